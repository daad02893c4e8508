"""Exported programs run on a page that has no Python."""
import base64
import json

import pytest

from pyborch import export
from tools.browser import ROOT, open_page, run_script

PAGE = """<!doctype html><script type="module">
import { load } from "./run.mjs";
const lines = [], say = (text) => { lines.push(text); };
const near = (a, b) => a === b || Math.abs(a - b) <= 1e-5 * Math.max(1, Math.abs(b)) || (a !== a && b !== b);
function compare(where, found, wanted) {
  if (Array.isArray(wanted)) return wanted.forEach((part, n) => compare(`${where}[${n}]`, found[n], part));
  if (!wanted.data) return Object.keys(wanted).forEach((key) => compare(`${where}.${key}`, found[key], wanted[key]));
  const bad = wanted.data.findIndex((value, n) => !near(Number(found.data[n]), value));
  if (found.dtype !== wanted.dtype || String(found.shape) !== String(wanted.shape) || found.data.length !== wanted.data.length || bad >= 0) {
    say(`${where}: ${found.dtype}[${found.shape}] ${found.data[bad]} instead of ${wanted.dtype}[${wanted.shape}] ${wanted.data[bad]} at ${bad}`);
  }
}
try {
  for (const { name, inputs, wanted } of await (await fetch("cases.json")).json()) {
    const model = await load(`${name}.safetensors`);
    compare(name, await model.run(inputs), wanted);
    const [first, second] = await Promise.all([model.run(...Object.values(inputs)), model.run(inputs)]);
    compare(name, first, wanted);
    compare(name, second, wanted);
    const message = await model.run({}).catch((error) => error.message);
    if (!/^input "\\w+" takes \\d+ numbers, .* none came$/.test(message)) say(`${name}: ${message}`);
    model.destroy();
  }
  const message = await load(new Uint8Array([2, 0, 0, 0, 0, 0, 0, 0, 123, 125])).catch((error) => error.message);
  if (!/holds no program/.test(message)) say(message);
} catch (error) { say(String(error.stack || error)); }
await fetch("/done", { method: "POST", body: lines.join("\\n") || "right" });
</script>"""


def test_the_runner_stays_small():
    assert len(export.runner().encode()) < 10_000


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_exported_programs_give_what_pyborch_gave(browser):
    printed: list = []
    status = run_script(ROOT / "tests/run_export.py", name=browser, files=[ROOT / "bench/models.py"], on_log=lambda fd, text: printed.append((fd, text)))
    assert status == 0, printed
    cases = [json.loads(line) for line in "".join(text for fd, text in printed if fd == 1).splitlines() if line.startswith("{")]
    assert len(cases) == (4 if browser == "chromium" else 5)
    texts = {f"/{case['name']}.safetensors": base64.b64decode(case.pop("file")) for case in cases}
    texts.update({"/page.html": PAGE.encode(), "/run.mjs": export.runner().encode(), "/cases.json": json.dumps(cases).encode()})
    words: list = []
    assert open_page({"/": ROOT / "tests/browser"}, "page.html", browser, 120, texts, lambda fd, text: words.append(text)) == "right", words
