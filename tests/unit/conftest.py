"""What several unit tests need."""
import pathlib
import sys

import pytest

import pyborch as torch
from pyborch import devices

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import planned  # noqa: E402


@pytest.fixture
def device(monkeypatch):
    """A WebGPU device that plans and runs nothing, as the default one."""
    found = planned.Planned()
    monkeypatch.setitem(devices._backends, "webgpu", found)
    before = devices._default[0]
    torch.set_default_device(found)
    yield found
    devices._default[0] = before
