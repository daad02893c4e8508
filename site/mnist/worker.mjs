// Pyodide and pyborch in a worker: trains when told to, then answers what a drawn digit is. News goes to the page as messages.
import { loadPyodide } from "../pyodide/pyodide.mjs";

const say = (news) => postMessage(news);
const fetched = async (url, kind) => {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return answer[kind]();
};

async function start() {
  say({ kind: "stage", text: "Starting Python" });
  const [pyodide, { wheel }, digits, script] = await Promise.all([
    loadPyodide({ indexURL: new URL("../pyodide/", import.meta.url).href }),
    fetched("../wheel.json", "json"), fetched("digits.bin", "arrayBuffer"), fetched("train.py", "text")]);
  pyodide.unpackArchive(await fetched(`../${wheel}`, "arrayBuffer"), "wheel");
  pyodide.setStdout({ batched: (text) => say({ kind: "print", text }) });
  say({ kind: "stage", text: "Compiling kernels" });
  pyodide.globals.set("say", (text) => say(JSON.parse(text)));
  await pyodide.runPythonAsync(`${script}\ndemo = Demo(lambda news: say(json.dumps(news)))`);
  return { demo: pyodide.globals.get("demo"), digits: pyodide.toPy(new Uint8Array(digits)), pyodide };
}

let running = null;
onmessage = async ({ data }) => {
  try {
    if (data.kind === "train") {
      running = start();
      const { demo, digits } = await running;
      await demo.train(digits, data.limit);
    } else {
      const { demo, pyodide } = await running;
      const pixels = pyodide.toPy(data.pixels);
      say({ kind: "prediction", chances: JSON.parse(await demo.predict(pixels)) });
      pixels.destroy();
    }
  } catch (error) {
    say({ kind: "error", text: String(error.message ?? error) });
  }
};
