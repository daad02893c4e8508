// Reduction of strided inputs (all of one geometry). Prepended: alias A (accumulator); fn start() -> A, fn take(a: A, at: u32, r: u32) -> A
// (adds the elements at offset `at`, the r-th of their output), fn merge(a: A, b: A) -> A, fn prepare(o: u32), fn store(i: u32, a: A),
// fn kept(o: u32) -> u32 (offset of output o).
// Output o reduces r0 < n0, r1 < n1 at kept(o) + r0 * s0 + r1 * s1, cut along r0 into `strips` parts.
// LANES 1: a thread per (o, strip), 64 per group. LANES 8: 32 outputs in a group. LANES 256: a group per (o, strip). store writes results, or accumulators for a second stage.
struct Params { outputs: u32, strips: u32, n0: u32, n1: u32, s0: u32, s1: u32, offset: u32, start: u32 KEPT_FIELDS }
fn part(o: u32, s: u32, lane: u32) -> A {
  let chunk = (p.n0 + p.strips - 1u) / p.strips;
  let first = s * chunk;
  let last = min(p.n0, first + chunk);
  let base = p.offset + kept(o);
  prepare(o);
  var a = start();
  if (LANES == 1u) {
    for (var r0 = first; r0 < last; r0++) {
      let row = base + r0 * p.s0;
      for (var r1 = 0u; r1 < p.n1; r1++) { a = take(a, row + r1 * p.s1, r0 * p.n1 + r1); }
    }
  } else if (p.n1 == 1u) {  // four loads at once, no division
    var b = start();
    var c = start();
    var d = start();
    var r = first + lane;
    for (; r + 3u * LANES < last; r += 4u * LANES) {
      a = take(a, base + r * p.s0, r);
      b = take(b, base + (r + LANES) * p.s0, r + LANES);
      c = take(c, base + (r + 2u * LANES) * p.s0, r + 2u * LANES);
      d = take(d, base + (r + 3u * LANES) * p.s0, r + 3u * LANES);
    }
    for (; r < last; r += LANES) { a = take(a, base + r * p.s0, r); }
    a = merge(merge(a, b), merge(c, d));
  } else if (first < last) {
    let count = (last - first) * p.n1;
    for (var k = lane; k < count; k += LANES) {
      let r0 = first + k / p.n1;
      let r1 = k % p.n1;
      a = take(a, base + r0 * p.s0 + r1 * p.s1, r0 * p.n1 + r1);
    }
  }
  return a;
}
