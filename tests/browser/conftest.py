"""One browser for each Pyodide and session: a test's first argument ``selenium`` is a Web Worker with pyborch installed."""
import shutil

import pytest
from flit_core import buildapi
from pytest_pyodide.fixture import selenium_common
from pytest_pyodide.server import spawn_web_server

from tools.browser import PYODIDES, ROOT

ONLY = {"selenium_bare": "314", "selenium_numpy": "0.27"}
SECONDS = 300  # for one call: kernels compile and run on two busy cores


@pytest.fixture(scope="session")
def wheel_url(tmp_path_factory):
    """The wheel of this checkout on a server of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        name = buildapi.build_wheel(str(folder))
    with spawn_web_server(folder) as (host, port, _):
        yield f"http://{host}:{port}/{name}"
    shutil.rmtree(folder)


def pytest_generate_tests(metafunc):
    if "pyodide_worker" in metafunc.fixturenames:
        only = [version for fixture, version in ONLY.items() if fixture in metafunc.fixturenames]
        metafunc.parametrize("pyodide_worker", only or list(PYODIDES), indirect=True, scope="session", ids="pyodide{}".format)


@pytest.fixture(scope="session")
def pyodide_worker(request, wheel_url):
    with spawn_web_server(PYODIDES[request.param]) as server, selenium_common(request, "chrome", server, worker=True) as worker:
        worker.set_script_timeout(SECONDS)
        worker.load_package(["micropip"] + ["numpy"] * (request.param == "0.27"))
        worker.run_async(f"import micropip; await micropip.install({wheel_url!r})")
        yield worker


@pytest.fixture
def selenium(pyodide_worker):
    """Both Pyodides, one after the other: the newest one bare, the older one with numpy."""
    pyodide_worker.clean_logs()
    yield pyodide_worker
    print(pyodide_worker.logs)


@pytest.fixture
def selenium_bare(selenium):
    """Only the newest Pyodide, which has no numpy."""
    return selenium


@pytest.fixture
def selenium_numpy(selenium):
    """Only the Pyodide with numpy."""
    return selenium
