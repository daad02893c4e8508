"""Settings for every test: which Pyodide pytest-pyodide reads its list of packages from, and how Chromium gets WebGPU."""
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if not hasattr(config.option, "dist_dir"):
        return  # the unit tests run without pytest-pyodide
    from pytest_pyodide import get_global_config
    config.option.runtime = "chrome"
    config.option.dist_dir = ROOT / ".cache/pyodide-314"
    get_global_config().set_flags("chrome", ["--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-webgpu",
                                             "--use-webgpu-adapter=swiftshader", "--enable-unsafe-swiftshader"])
