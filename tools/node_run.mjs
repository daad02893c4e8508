// Runs a Python file in Pyodide under Node, beside Dawn (npm webgpu): the browser's FFI without a browser.
//   node tools/node_run.mjs [--numpy] script.py [args]
// --numpy takes Pyodide 0.27 with the scientific stack (tools/distribution.py). NODE_MODULES may name another node_modules.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json";

const args = process.argv.slice(2);
const numpy = args[0] === "--numpy" && Boolean(args.shift());
const [script, ...rest] = args;
if (!script) fail("usage: node tools/node_run.mjs [--numpy] script.py [args]", 2);

function fail(message, status = 1) {
  console.error(message);
  process.exit(status);
}

// JSPI is behind a flag in Node 20 (in 24 the flag is gone and needless), and the Vulkan loader reads its environment
// when it is loaded: so a child gets both from the start.
function runChild() {
  const env = { XDG_RUNTIME_DIR: os.tmpdir(), ...process.env, PYBORCH_NODE_CHILD: "1" };
  if (fs.existsSync(SWIFTSHADER)) env.VK_ICD_FILENAMES ??= SWIFTSHADER;
  const flags = "Suspending" in WebAssembly ? [] : ["--experimental-wasm-stack-switching"];
  const child = spawnSync(process.execPath, [...flags, fileURLToPath(import.meta.url), ...process.argv.slice(2)],
    { env, stdio: ["ignore", "inherit", "inherit"] });
  if (child.signal) fail(`node_run: ended by ${child.signal}`);
  process.exit(child.status);
}

function findModules() {
  const modules = [process.env.NODE_MODULES, path.join(ROOT, "node_modules")].find((folder) => folder && fs.existsSync(folder));
  return modules ?? fail("node_run: no node_modules here; run `npm ci`");
}

function provideGpu(modules) {
  const { create, globals } = createRequire(path.join(modules, "here.js"))("webgpu");
  Object.assign(globalThis, globals);
  // Pyodide reads navigator.userAgent while it starts.
  const navigator = { userAgent: `Node.js/${process.versions.node}`, gpu: create([]) };
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
}

async function startPyodide(modules) {
  const folder = numpy ? path.join(ROOT, ".cache/pyodide-0.27") : path.join(modules, "pyodide");
  if (!fs.existsSync(folder)) fail("node_run: no Pyodide there; run `python tools/distribution.py`");
  const { loadPyodide } = await import(pathToFileURL(path.join(folder, "pyodide.mjs")));
  const pyodide = await loadPyodide({ indexURL: folder + "/" });
  const writer = (fd) => ({ isatty: false, write: (bytes) => fs.writeSync(fd, bytes) });
  pyodide.setStdout(writer(1));
  pyodide.setStderr(writer(2));
  pyodide.setStdin({ error: true });
  if (numpy) await pyodide.loadPackage("numpy", { messageCallback() {} });
  return pyodide;
}

function mount(pyodide, folder) {
  pyodide.FS.mkdirTree(folder);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: folder }, folder);
}

async function main() {
  const modules = findModules();
  provideGpu(modules);
  const pyodide = await startPyodide(modules);
  const file = path.resolve(script);
  mount(pyodide, ROOT);
  if (!file.startsWith(ROOT + path.sep)) mount(pyodide, path.dirname(file));
  pyodide.runPython(`import sys; sys.dont_write_bytecode = True; sys.path.insert(0, ${JSON.stringify(ROOT)})`);
  const start = pyodide.runPython("from tools.pyodide_main import main; main");
  return start.callPromising(file, pyodide.toPy(rest), pyodide.toPy([ROOT]), ROOT);
}

if (!process.env.PYBORCH_NODE_CHILD) runChild();
main().then((status) => process.exit(status), (error) => fail(error.message ?? error));
