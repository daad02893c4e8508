"""Bugs met elsewhere do not occur here, on the CPU device (tests/browser runs the same on WebGPU)."""
import pytest
import reported

import pyborch

CASES = reported.CASES + reported.ON_CPU


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, expression, wanted", CASES, ids=[name for name, _, _ in CASES])
def test_it_gives_the_right_value(name, expression, wanted):
    pyborch.set_default_device("cpu")
    assert reported.problem(pyborch, expression, wanted) == ""
