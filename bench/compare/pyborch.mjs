// pyborch in Pyodide: a compiled function's program, repeated by one call (as its `run` does). The Python half is work.py.
let python;

export async function start() {
  const { loadPyodide } = await import("./pyodide/pyodide.mjs");
  const [pyodide, files] = await Promise.all([
    loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href }),
    fetch("pyborch.zip").then((answer) => answer.arrayBuffer())]);
  pyodide.unpackArchive(files, "zip", { extractDir: "/compare" });
  pyodide.runPython("import sys; sys.path.insert(0, '/compare')");
  python = pyodide.pyimport("work");
  return { description: await python.start.callPromising() };
}

async function made(op, inputs) {
  const names = Object.keys(inputs);
  const work = await python.work.callPromising(op, names.map((name) => inputs[name].data), names.map((name) => inputs[name].shape));
  return {
    per: work.per,
    run: (n) => work.run.callPromising(n),
    sync: () => work.sync.callPromising(),
    async result() {
      const bytes = await work.result.callPromising(), data = bytes.toJs();
      bytes.destroy?.();
      return new Float32Array(data.slice().buffer);
    },
    drop() {
      work.drop();
      work.destroy();
    },
  };
}

export const cases = Object.fromEntries(
  ["matmul", "conv", "softmax", "layernorm", "sum", "relu", "add"].map((op) => [op, (inputs) => made(op, inputs)]));
