"""Printing, indexing, promotion, autograd and errors, word for word as PyTorch 2.13 (frozen by tests/oracle_semantics.py)."""
import json

import pytest
import samples
import semantics

import pyborch

GOLDEN = json.loads((samples.GOLDEN / "semantics.json").read_text())
ALL = [(name, case, wanted) for name, cases in semantics.CASES.items() for case, wanted in zip(cases, GOLDEN[name], strict=True)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, case, wanted", ALL, ids=[f"{name}-{case[:40]}" for name, case, _ in ALL])
def test_the_outcome_is_that_of_pytorch(name, case, wanted):
    pyborch.set_default_device("cpu")
    pyborch.nn, pyborch.optim  # noqa: B018 made importable by attribute
    assert semantics.outcome(case, pyborch) == wanted
