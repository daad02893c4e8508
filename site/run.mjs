// Pyodide and pyborch in a worker: runs the scripts it is sent, one after the other, each with fresh names.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const say = (kind, text) => postMessage({ kind, text });

async function start() {
  say("state", "Starting Python");
  const [pyodide, { wheel }] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href }),
    fetch("wheel.json").then((answer) => answer.json())]);
  pyodide.unpackArchive(await (await fetch(wheel)).arrayBuffer(), "wheel");
  pyodide.setStdout({ batched: (text) => say("print", text) });
  await pyodide.runPythonAsync('import pyborch\nawait pyborch.init("webgpu")');
  return pyodide;
}

let started = null;
onmessage = async ({ data }) => {
  try {
    const pyodide = await (started ??= start());
    say("state", "Running");
    const names = pyodide.toPy({ __name__: "__main__" });
    await pyodide.runPythonAsync(data, { globals: names });
    names.destroy();
    say("done", "");
  } catch (error) {
    say("error", String(error.message ?? error));
  }
};
