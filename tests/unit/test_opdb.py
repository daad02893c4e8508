"""Frozen samples of PyTorch's operator database on the CPU device (tests/run_opdb.py runs them on WebGPU)."""
import json
import pathlib
import sys

import pyborch as torch
import pyborch.nn  # noqa: F401 so that torch.nn is there

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import frozen  # noqa: E402


def test_frozen_samples_give_pytorchs_values_and_gradients(monkeypatch):
    torch.set_default_device("cpu")
    known = set(json.loads((frozen.GOLDEN / "known.json").read_text())["cpu"])
    problems, count = {}, 0
    for row in frozen.rows():
        count += 1
        problem = frozen.problem_of(torch, row)
        if problem and row["id"] not in known:
            problems[row["id"]] = problem
    assert count > 2000
    assert not problems, "\n".join(f"{k}: {v}" for k, v in problems.items())


def test_a_wrong_value_a_wrong_dtype_and_a_wrong_gradient_are_seen():
    torch.set_default_device("cpu")
    row = next(r for r in frozen.rows() if r["id"].startswith("mul float32 gradient") and not frozen.problem_of(torch, r))
    wanted = row["values"][0]
    for part in ("values", "grads"):
        dtype, shape, text = row[part][0]
        assert "instead of" in frozen.problem_of(torch, {**row, part: [[dtype, shape, "AACAPw" + text[6:]], *row[part][1:]]})
    assert "float64" in frozen.problem_of(torch, {**row, "values": [["float64", *wanted[1:]]]})


def test_the_coverage_page_says_what_its_data_and_the_frozen_samples_say():
    from tools import coverage
    data = json.loads((coverage.ROOT / "docs/coverage.json").read_text())
    assert (coverage.ROOT / "docs/coverage.md").read_text() == coverage.page(data)
    assert data["frozen"] == coverage.frozen_counts()
    float32 = [row for row in data["op_db"].values()]
    assert data["gradient_passed"] == sum(row[3] for row in float32)
    assert data["forward_passed"] <= sum(row[1] for row in float32)


def test_names_that_the_coverage_page_claims_are_here():
    from tools import coverage
    data = json.loads((coverage.ROOT / "docs/coverage.json").read_text())
    for owner, names in data["namespaces"].items():
        module = coverage.found(torch, owner.removeprefix("torch").removeprefix("."))
        assert [n for n, why in names.items() if not why and not hasattr(module, n)] == [], owner
