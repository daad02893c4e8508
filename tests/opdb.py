"""PyTorch's operator database (op_db) against pyborch on the CPU: values, shapes, dtypes and gradients of every sample.

    .cache/torch/bin/python tests/opdb.py [names, as linalg.qr] [--dtypes float32,int64] [--seed 0] [--json FILE] [--failures]
"""
import argparse
import collections
import json
import signal
import sys
import warnings

import opdb_bridge as bridge
import torch

import pyborch

warnings.simplefilter("ignore")
pyborch.set_default_device("cpu")
torch.set_num_threads(1)
UNINITIALIZED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "resize_as_"}
# vectors that are determined up to signs or bases: where raw results differ, what PyTorch's own gradient checks make of them is compared
GAUGE = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd", "linalg.lstsq", "geqrf", "pca_lowrank", "svd_lowrank", "symeig", "lobpcg"}


class Late(BaseException):
    """An op takes too long."""


def late(*_):
    raise Late


class Run:
    """One sample on one side: fresh arguments, then results, then gradients."""

    def __init__(self, function, sample, own):
        copies = bridge.Copies(own)
        self.args, self.kwargs = copies((sample.input, *sample.args)), copies(sample.kwargs)
        self.leaves = copies.leaves
        self.result = function(*self.args, **self.kwargs)

    def outputs(self):
        return bridge.leaves_of(self.result)

    def gradients(self, process):
        """Gradients of the leaves for a fixed cotangent; None where nothing is differentiable."""
        outputs = [t for t in bridge.leaves_of(process(self.result)) if getattr(t, "requires_grad", False)]
        if not outputs or not self.leaves:
            return None
        library = torch if isinstance(outputs[0], torch.Tensor) else pyborch
        weights = [bridge.cotangent(torch.empty(tuple(t.shape), dtype=bridge.at(torch, str(t.dtype).split(".")[1]))) for t in outputs]
        weights = weights if library is torch else [bridge.Copies(False)(w) for w in weights]
        return library.autograd.grad(outputs, self.leaves, weights, allow_unused=True)


def compared_gradients(found, wanted, values):
    """What is different; a gradient that is left out equals zeros."""
    if found is None:
        return "gradient: no result requires one"
    pairs = []
    for f, w in zip(found, wanted):
        if f is None and w is None or f is None and not w.to_dense().any():
            continue
        pairs.append((f, w if w is not None else torch.zeros_like(bridge.theirs(f))))
    problem = bridge.differs([f for f, _ in pairs], [w for _, w in pairs], values)
    return f"gradient: {problem}" if problem else ""


def alike(found, wanteds):
    """Random results against some draws of PyTorch's: shapes and dtypes, and means within six deviations."""
    problem = bridge.differs(found, wanteds[0], values=False)
    if problem:
        return problem
    for k, f in enumerate(found):
        draws = torch.cat([w[k].detach().reshape(-1).double() for w in wanteds]) if isinstance(wanteds[0][k], torch.Tensor) else torch.empty(0)
        if not draws.numel():
            continue
        f = bridge.theirs(f).reshape(-1).double()
        if f.isfinite().all() and draws.isfinite().all():
            spread = draws.std().item() if draws.numel() > 1 else 0
            if f.numel() >= 20 and abs(f.mean() - draws.mean()) > 6 * spread * (1 / f.numel() + 1 / draws.numel()) ** 0.5 + 1e-6:
                return f"result {k}: another mean than random draws of PyTorch"
    return ""


def check(info, sample):
    """(forward problem, gradient problem or None where PyTorch has no gradient); Exception where PyTorch itself refuses the sample."""
    name = info.name
    torch.manual_seed(0)
    wanted = Run(info.op, sample, True)
    values = wanted.outputs()
    torch.manual_seed(1)
    again = Run(info.op, sample, True)
    random = name not in UNINITIALIZED and bool(own_differs(again.outputs(), values))
    gradients = None
    if wanted.leaves:
        try:
            gradients = wanted.gradients(sample.output_process_fn_grad)
        except (RuntimeError, NotImplementedError, AttributeError):
            gradients = None
    try:
        found = Run(bridge.function_of(info), sample, False)
        if random:
            problem = alike(found.outputs(), [values, again.outputs(), *[Run(info.op, sample, True).outputs() for _ in range(6)]])
        else:
            problem = bridge.differs(found.outputs(), values, name not in UNINITIALIZED)
        process = bridge.ours(sample.output_process_fn_grad)
        if problem and "values" in problem and name in GAUGE:
            problem = bridge.differs(bridge.leaves_of(process(found.result)), bridge.leaves_of(sample.output_process_fn_grad(wanted.result)))
    except Exception as error:  # noqa: BLE001 counted and shown
        text = reason(error)
        return text, None if gradients is None else text
    if gradients is None:
        return problem, None
    try:
        return problem, problem or compared_gradients(found.gradients(process), gradients, not random)
    except Exception as error:  # noqa: BLE001
        return problem, "gradient: " + reason(error)


def own_differs(found, wanted):
    """Whether two runs of PyTorch differ."""
    for f, w in zip(found, wanted):
        if isinstance(w, torch.Tensor) and w.layout == torch.strided:
            if f.shape != w.shape or not torch.allclose(f.detach().resolve_conj(), w.detach().resolve_conj(), equal_nan=True):
                return True
    return False


def reason(error):
    return f"{type(error).__name__}: {str(error)[:140]}".replace("\n", " ")


def samples_of(info, dtype, seed, tracked):
    """The samples of an op; with ``tracked`` those of its gradient checks, tensors that can have gradients marked so."""
    if tracked and not (info.supports_autograd and (dtype.is_floating_point or dtype.is_complex) and dtype in info.supported_backward_dtypes("cpu")):
        return []
    torch.manual_seed(seed)
    return list(info.sample_inputs("cpu", dtype, requires_grad=tracked))


def measured(info, dtype, seed, seconds=60):
    """The counts of one OpInfo; reasons is {why: samples lost}."""
    counts = {"samples": 0, "passed": 0, "gradient_samples": 0, "gradient_passed": 0}
    reasons = collections.Counter()
    samples = [(sample, tracked) for tracked in (False, True) for sample in samples_of(info, dtype, seed, tracked)]
    signal.alarm(seconds)
    try:
        for k, (sample, tracked) in enumerate(samples):  # noqa: B007 used where time is up
            try:
                forward, gradient = check(info, sample)
            except Exception as error:  # noqa: BLE001 PyTorch refuses its own sample
                forward, gradient = "PyTorch raises " + reason(error), None
            if tracked and gradient is None:
                continue
            part, problem = ("gradient_", gradient) if tracked else ("", forward)
            counts[part + "samples"] += 1
            counts[part + "passed"] += not problem
            if problem:
                reasons[problem] += 1
    except Late:
        for _, tracked in samples[k:]:
            counts["gradient_samples" if tracked else "samples"] += 1
        reasons["too slow"] += len(samples) - k
    finally:
        signal.alarm(0)
    return {**counts, "reasons": dict(reasons.most_common(8))}


def totals(table):
    """Sums over all rows (of float32 where that is asked for); an op is complete where every sample of all its variants passes, gradients too."""
    same = max({row["dtype"] for row in table.values()}, key=lambda d: (d == "float32", d), default="")
    counted = [row for row in table.values() if same != "float32" or row["dtype"] == "float32"]
    sums = {k: sum(row[k] for row in counted) for k in ("samples", "passed", "gradient_samples", "gradient_passed")}
    names = collections.defaultdict(lambda: True)
    for row in table.values():
        names[row["name"]] &= row["passed"] == row["samples"] and row["gradient_passed"] == row["gradient_samples"]
    return {"forward_samples": sums["samples"], "forward_passed": sums["passed"], "gradient_samples": sums["gradient_samples"],
            "gradient_passed": sums["gradient_passed"], "ops": len(names), "ops_complete": sum(names.values())}


def instead(info):
    """A dtype for an op that has no float32."""
    return next((name for name in ("int64", "complex64") if getattr(torch, name) in info.supported_dtypes("cpu")), None)


def shown(key, row):
    why = "; ".join(f"{n} x {r}" for r, n in list(row["reasons"].items())[:3])
    return f"{key:45} {row['passed']:4}/{row['samples']:<4} gradients {row['gradient_passed']:4}/{row['gradient_samples']:<4} {why}"


def lost(row):
    return row["samples"] - row["passed"] + row["gradient_samples"] - row["gradient_passed"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json")
    parser.add_argument("--failures", action="store_true", help="only what fails, most samples lost first")
    parser.add_argument("--timeout", type=int, default=60)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, late)
    table = {}
    for dtype in options.dtypes.split(","):
        for info in bridge.op_db:
            if options.names and info.name not in options.names and info.full_name not in options.names:
                continue
            used = dtype if getattr(torch, dtype) in info.supported_dtypes("cpu") else instead(info) if options.dtypes == "float32" else None
            if used is None:
                continue
            key = info.full_name if "," not in options.dtypes else f"{info.full_name} {dtype}"
            table[key] = {"name": info.name, "dtype": used, **measured(info, getattr(torch, used), options.seed, options.timeout)}
            if not options.failures:
                print(shown(key, table[key]), flush=True)
    if options.failures:
        for key in sorted(table, key=lambda k: -lost(table[k])):
            if lost(table[key]):
                print(shown(key, table[key]))
    print(totals(table))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"totals": totals(table), "ops": table}, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
