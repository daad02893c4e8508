"""The ground that the other browser tests stand on."""
from pytest_pyodide import run_in_pyodide

from tools.browser import run_script


@run_in_pyodide
async def test_the_worker_has_webgpu_and_waits_without_await(selenium):
    import js
    from pyodide.ffi import can_run_sync, run_sync
    assert can_run_sync()
    adapter = run_sync(js.navigator.gpu.requestAdapter())
    assert adapter.info.architecture == "swiftshader"


@run_in_pyodide
def test_the_wheel_is_what_is_imported(selenium):
    import importlib.metadata
    import pyborch
    assert "site-packages" in pyborch.__file__
    assert importlib.metadata.version("pyborch") == "0.1.0"


@run_in_pyodide
def test_numpy_is_absent_from_the_bare_pyodide(selenium_bare):
    import importlib.util
    assert importlib.util.find_spec("numpy") is None


@run_in_pyodide
def test_numpy_is_there_in_the_other(selenium_numpy):
    import numpy
    assert numpy.arange(3).sum() == 3


def test_a_failure_inside_pyodide_fails_here(selenium):
    import pytest

    @run_in_pyodide
    def fails(selenium):
        assert 1 == 2

    with pytest.raises(AssertionError):
        fails(selenium)


def test_the_page_runner_gives_output_and_status(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys, pyborch.shape\nprint(sys.argv[1:])\nprint('to stderr', file=sys.stderr)\nsys.exit(3)\n")
    lines = []
    status = run_script(script, ["a", "b"], on_log=lambda fd, text: lines.append((fd, text)))
    assert status == 3
    assert lines == [(1, "['a', 'b']\n"), (2, "to stderr\n")]
