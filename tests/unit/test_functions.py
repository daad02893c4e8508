"""torch.func and torch.autograd.functional give PyTorch's values."""
import json
import pathlib

import functions
import pytest

import pyborch

WANTED = json.loads((pathlib.Path(functions.__file__).parent / "golden/functions.json").read_text())


def same(found, wanted):
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    return found == wanted or isinstance(wanted, float) and abs(found - wanted) <= 1e-5 * max(1, abs(wanted))


@pytest.mark.parametrize("expression, wanted", zip(functions.CASES, WANTED), ids=functions.CASES)
def test_it_gives_pytorchs_value(expression, wanted):
    pyborch.set_default_device("cpu")
    assert same(functions.outcome(pyborch, expression), wanted), functions.outcome(pyborch, expression)
