// Runs the job of tools/browser.py in Pyodide: fetches the files, runs the script, reports by POST /log and /done.
const post = (path, body) => fetch(path, { method: "POST", body });

// One sender at a time keeps the order; what is written meanwhile goes out together.
const waiting = [];
let sending = null;
function log(fd, bytes) {
  waiting.push([fd, bytes.slice()]);
  sending ??= drain().finally(() => { sending = null; });
  return bytes.length;
}
async function drain() {
  while (waiting.length) {
    const fd = waiting[0][0];
    const parts = [];
    while (waiting.length && waiting[0][0] === fd) parts.push(waiting.shift()[1]);
    await post(`/log?fd=${fd}`, new Blob(parts));
  }
}

async function startPyodide(job) {
  const { loadPyodide } = await import("/pyodide/pyodide.mjs");
  const pyodide = await loadPyodide({ indexURL: "/pyodide/" });
  pyodide.setStdout({ isatty: false, write: (bytes) => log(1, bytes) });
  pyodide.setStderr({ isatty: false, write: (bytes) => log(2, bytes) });
  pyodide.setStdin({ error: true });
  if (job.packages.length) await pyodide.loadPackage(job.packages, { messageCallback() {} });
  return pyodide;
}

async function run() {
  const job = await (await fetch("/job.json")).json();
  const [pyodide, files] = await Promise.all([startPyodide(job), fetch("/job.zip").then((answer) => answer.arrayBuffer())]);
  pyodide.unpackArchive(files, "zip", { extractDir: "/" });
  pyodide.runPython(`import sys; sys.path.insert(0, ${JSON.stringify(job.root)})`);
  const main = pyodide.runPython("from tools.pyodide_main import main; main");
  const call = main.callPromising ?? main;
  return call.call(main, job.script, pyodide.toPy(job.args), pyodide.toPy([job.root]), job.root);
}

let status = 1;
try {
  status = await run();
} catch (error) {
  log(2, new TextEncoder().encode(`${error.message ?? error}\n`));
}
while (sending) await sending;
await post("/done", String(status));
