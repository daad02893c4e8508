"""The assembled site as files: complete in its own folder, small, and free of foreign hosts."""
import json
import re
import struct
import zipfile

import pytest

from tools.browser import ROOT

SITE = ROOT / "dist/site"
START = """async (code) => {
    const { loadPyodide } = await import("/pyodide/pyodide.mjs");
    const pyodide = await loadPyodide({ indexURL: "/pyodide/" });
    const { wheel } = await (await fetch("/wheel.json")).json();
    await pyodide.loadPackage("/" + wheel, { messageCallback() {} });
    return await """


@pytest.fixture(scope="module")
def wheel(site_url):
    return SITE / json.loads((SITE / "wheel.json").read_text())["wheel"]


def test_the_wheel_is_pure_small_and_without_tests(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < 700_000
    names = zipfile.ZipFile(wheel).namelist()
    assert {"pyborch/__init__.py", "pyborch/devices/bridge.js", "pyborch/wgsl/prelude.wgsl"} <= set(names)
    assert not [name for name in names if not name.startswith(("pyborch/", "pyborch-"))]


def test_the_wheel_needs_numpy_only_outside_the_browser(wheel):
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read(next(name for name in archive.namelist() if name.endswith("METADATA"))).decode()
    requirements = re.findall(r"^Requires-Dist: (.*)$", metadata, re.M)
    assert len(requirements) == 1 and re.fullmatch(r"numpy\s*;\s*sys_platform != ['\"]emscripten['\"]", requirements[0])


def test_pages_load_nothing_from_elsewhere(site_url):
    kinds = {".html", ".js", ".mjs", ".css"}
    pages = [path for path in SITE.rglob("*") if path.suffix in kinds and "pyodide" not in path.parts]
    loads = re.compile(r"""(?:src|import|from|fetch|url)\s*[=(]?\s*\(?['"]?https?://""")
    assert not [path.name for path in pages if loads.search(path.read_text())]


LOAD = """
import pyborch as torch
from pyborch.io import safetensors
await torch.init("webgpu")
url, seen = "/weights.safetensors", []
first = await safetensors.load_url(url, progress=lambda at, total: seen.append((at, total)))
again = await safetensors.load_url(url)
anew = await safetensors.load_url(url, cache=False)
assert seen[-1][0] == 8 + 56 + 12, seen
answers = [await found["t"].tolist_async() for found in (first, again, anew)]
for url in ("/broken.safetensors", "/missing.safetensors"):
    for _ in range(2):  # a broken file is not kept, nor taken from there
        try:
            await safetensors.load_url(url)
        except (safetensors.SafetensorError, OSError) as error:
            answers.append(type(error).__name__)
str(answers)
"""


def test_weights_come_from_the_web_once_and_only_sound_ones_are_kept(page):
    header = b'{"t":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}'
    sound = struct.pack("<Q", 56) + header.ljust(56) + struct.pack("<3f", 1, 2, 3)
    asked, page.expected = [], ["Failed to load resource: the server responded with a status of 404"]

    def answer(route):
        name = route.request.url.split("/")[-1].split(".")[0]
        asked.append(name)
        route.fulfill(status=200 if name != "missing" else 404, body={"weights": sound, "broken": sound[:-1], "missing": b""}[name])
    page.route("**/*.safetensors", answer)
    page.goto("/wheel.json")
    found = page.evaluate(START + "pyodide.runPythonAsync(code); }", LOAD)
    assert found == str([[1.0, 2.0, 3.0]] * 3 + ["SafetensorError"] * 2 + ["OSError"] * 2)
    assert asked == ["weights"] * 2 + ["broken"] * 2 + ["missing"] * 2


def test_a_page_starts_pyodide_and_imports_pyborch(page):
    page.goto("/wheel.json")
    answer = page.evaluate(START + "pyodide.runPythonAsync(code); }", "import pyborch; pyborch.__name__")
    assert answer == "pyborch"


def test_the_first_script_runs_on_the_landing_page_and_errors_are_shown(page):
    page.goto("/")
    page.locator("#run").click()
    page.wait_for_function("document.getElementById('state').textContent === 'Done'")
    losses = [float(line.split()[1]) for line in page.locator("#output").inner_text().splitlines()]
    assert len(losses) == 5 and losses[-1] < losses[0] / 2
    page.locator("#code").fill("import pyborch as torch\ntorch.ones(2, 3) @ torch.ones(2, 3)")
    page.locator("#run").click()
    page.wait_for_function("document.getElementById('state').textContent.startsWith('Stopped')")
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)" in page.locator("#output").inner_text()
