"""The assembled site as files: complete in its own folder, small, and free of foreign hosts."""
import json
import re
import zipfile

import pytest

from tools.browser import ROOT

SITE = ROOT / "dist/site"


@pytest.fixture(scope="module")
def wheel(site_url):
    return SITE / json.loads((SITE / "wheel.json").read_text())["wheel"]


def test_the_wheel_is_pure_small_and_without_tests(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < 400_000
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


def test_a_page_starts_pyodide_and_imports_pyborch(page):
    page.goto("/wheel.json")
    answer = page.evaluate("""async () => {
        const { loadPyodide } = await import("/pyodide/pyodide.mjs");
        const pyodide = await loadPyodide({ indexURL: "/pyodide/" });
        const { wheel } = await (await fetch("/wheel.json")).json();
        await pyodide.loadPackage("/" + wheel, { messageCallback() {} });
        return await pyodide.runPythonAsync("import pyborch; pyborch.__name__");
    }""")
    assert answer == "pyborch"
