"""Scripts written for PyTorch run unchanged, with PyTorch's losses, eagerly and compiled (tests/browser: on WebGPU)."""
import subprocess
import sys

import portable_scripts
import pytest

import pyborch


@pytest.fixture(autouse=True)
def on_cpu():
    pyborch.set_default_device("cpu")


@pytest.mark.parametrize("name", portable_scripts.WANTED)
def test_a_script_ends_with_pytorchs_loss(name):
    main = portable_scripts.script(name).main
    found = main()
    assert portable_scripts.differs(found, portable_scripts.WANTED[name], 0.01) == ""
    assert portable_scripts.differs(main(portable_scripts.compiled), found, 1e-4) == ""


def test_every_script_has_its_loss():
    names = {p.stem for p in (portable_scripts.TESTS / "portable").glob("*.py")} - {"numbers_alike"}
    assert names == set(portable_scripts.WANTED) and len(names) == 20


def in_a_process(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=portable_scripts.TESTS.parent, check=True).stdout.strip()


def test_import_torch_gives_the_same_modules():
    code = """
import pyborch; pyborch.install_as_torch(); pyborch.install_as_torch()
import torch, torch.nn as nn, torch.nn.functional as F, torch.optim.lr_scheduler as schedules, torch.utils.data.dataset as sets
from torch.utils.data import DataLoader
from torch.nn.modules.linear import Linear
from torch import Tensor, optim
assert torch is pyborch and nn is pyborch.nn and F is pyborch.nn.functional and schedules is pyborch.optim.lr_scheduler and Tensor is pyborch.Tensor
assert Linear is pyborch.nn.Linear and DataLoader is pyborch.data.DataLoader and sets.Dataset is pyborch.data.Dataset
assert nn.__name__ == nn.__spec__.name == 'pyborch.nn'
try:
    import torch.no_such_thing
except ModuleNotFoundError as error:
    print(error)
"""
    assert in_a_process(code) == "No module named 'torch.no_such_thing'"


def test_the_real_torch_stays_where_it_is():
    code = """
import sys, types; sys.modules['torch'] = types.ModuleType('torch')
import pyborch
try:
    pyborch.install_as_torch()
except RuntimeError as error:
    print(error)
"""
    assert in_a_process(code).startswith("install_as_torch: torch is imported already")
