"""Random numbers on the CPU device (tests/browser runs the same on WebGPU)."""
import drawn
import pytest

import pyborch


@pytest.mark.parametrize("check", [drawn.check_statistics, drawn.check_order, drawn.check_values])
def test_random_numbers(check):
    pyborch.set_default_device("cpu")
    check(pyborch)
