// How long work takes: one function for all peers.

async function timed(work, n) {
  await work.sync();
  const begun = performance.now();
  await work.run(n);
  await work.sync();
  return (performance.now() - begun) / 1e3;
}

const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

// Seconds of one run: the difference of two counts of runs, so that what waiting costs is left out. A count takes about `target` seconds.
export async function secondsOf(work, { target, rounds, most = 5000 }) {
  await timed(work, 2);
  let n = 1, took;
  while ((took = await timed(work, n)) < target / 4 && n < most) n *= 2;
  n = Math.min(most, Math.max(1, Math.round(n * target / took)));
  const found = [];
  for (let round = 0; round < rounds; round++) {
    const once = await timed(work, n);
    found.push((await timed(work, 3 * n) - once) / (2 * n));
  }
  return median(found) / (work.per ?? 1);
}
