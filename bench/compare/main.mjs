// Runs every case with every peer and says each result at once: on the page, and by POST /log and /done if the query has report=post.
// Query: report=post, anyway, only=REGEX (case names), peers=pyborch,tfjs
//
// A peer is a module with `start()`, which gives the GPUAdapterInfo of its device, and `cases`: for each operation of cases.mjs a function
// of its inputs that gives {run(n): does it n times (`per` times n where it says `per`), sync(): waits for that by reading a small value,
// result(): all numbers of one, drop()}.
import { nameOf, theAdapter } from "./adapter.mjs";
import { cases, rate, worst } from "./cases.mjs";
import { secondsOf } from "./timing.mjs";

const NAMES = ["pyborch", "tfjs", "ort", "jaxjs"];
const TOLERANCE = 5e-5;  // float32 sums of thousands stay below it, products in float16 or TF32 do not
const PATIENCE = 90;     // seconds for one case of one peer
const query = new URLSearchParams(location.search);
const posting = query.get("report") === "post";

const post = (path, body) => posting && fetch(path, { method: "POST", body });

function say(message) {
  document.body.append(`${JSON.stringify(message)}\n`);
  return post("/log", `${JSON.stringify(message)}\n`);
}

function inTime(promise) {
  const error = new Error(`no answer in ${PATIENCE} s`);
  return Promise.race([promise, new Promise((_, failed) => setTimeout(() => failed(error), PATIENCE * 1e3))]);
}

async function started(name, version) {
  const peer = { name, version };
  try {
    const { start, cases } = await import(`./${name}.mjs`);
    Object.assign(peer, { adapter: nameOf(await inTime(start())), cases });
  } catch (error) {
    peer.error = String(error.message ?? error);
  }
  await say({ peer: name, version, adapter: peer.adapter, error: peer.error });
  return peer;
}

// {value, unit, milliseconds, off, verdict}: the answer is looked at first, which also has everything compiled.
async function measured(peer, one, inputs, pace) {
  if (peer.error) return { error: peer.error };
  let work;
  try {
    work = await inTime(peer.cases[one.op](inputs));
    const off = worst(one.op, inputs, await inTime(work.result()));
    const seconds = await inTime(secondsOf(work, pace));
    return { value: rate(one, seconds), milliseconds: seconds * 1e3, off, verdict: off <= TOLERANCE ? "right" : "wrong" };
  } catch (error) {
    return { error: String(error.message ?? error) };
  } finally {
    await dropped(work);
  }
}

// What failed may fail at this too.
async function dropped(work) {
  try {
    await inTime(Promise.resolve(work?.drop()));
  } catch (error) {
    console.warn(error);
  }
}

async function compare() {
  const adapter = await theAdapter(), versions = await (await fetch("versions.json")).json();
  if (adapter.software && !query.has("anyway")) return { refused: adapter.name };
  await say({ adapter: adapter.name, software: adapter.software, browser: navigator.userAgent });
  const peers = [];
  for (const name of query.get("peers")?.split(",") ?? NAMES) peers.push(await started(name, versions[name]));
  const only = new RegExp(query.get("only") ?? "", "i");
  const pace = adapter.software ? { target: 0.03, rounds: 3 } : { target: 0.1, rounds: 5 };
  for (const one of cases(adapter.software).filter(({ name }) => only.test(name))) {
    const inputs = one.inputs();
    for (const peer of peers) {
      const found = await measured(peer, one, inputs, pace);
      await say({ case: one.name, unit: one.unit, peer: peer.name, adapter: peer.adapter, ...found });
    }
  }
  return {};
}

let end;
try {
  end = await compare();
} catch (error) {
  end = { error: String(error.message ?? error) };
}
document.body.append(JSON.stringify(end.refused ? { refused: `${end.refused} is software; add ?anyway` } : { done: true, ...end }));
await post("/done", JSON.stringify(end));
