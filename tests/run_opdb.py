"""Frozen samples of PyTorch's operator database on any device: run_opdb.py [--device cpu] [--full] [PART/PARTS]; on WebGPU unless told otherwise.

``--full`` takes all samples, as ``tests/oracle_opdb.py --full`` wrote them to .cache/opdb. What fails and is not listed in
tests/golden/opdb/known.json fails the run; ``--learn`` writes the device's list anew.
"""
import json
import pathlib
import sys
import time

import frozen

import pyborch
import pyborch.nn

device = "cpu" if "cpu" in sys.argv else "webgpu"
part, parts = next(([int(n) for n in a.split("/")] for a in sys.argv[1:] if "/" in a), (0, 1))
folder = pathlib.Path(__file__).resolve().parent.parent / ".cache/opdb" if "--full" in sys.argv else frozen.GOLDEN
pyborch.set_default_device(device)
lists = json.loads((frozen.GOLDEN / "known.json").read_text())
known = set() if "--full" in sys.argv or "--learn" in sys.argv else set(lists[device])
start, count, failures = time.time(), 0, {}
for row in frozen.rows(folder, part, parts):
    count += 1
    problem = frozen.problem_of(pyborch, row)
    if problem:
        failures[row["id"]] = problem
new = {k: v for k, v in failures.items() if k not in known}
for key, problem in new.items():
    print(f"{key}: {problem[:200]}")
print(json.dumps({"device": device, "samples": count, "passed": count - len(failures), "new_failures": len(new), "seconds": round(time.time() - start, 1)}))
if "--learn" in sys.argv:
    lists[device] = sorted(failures)
    (frozen.GOLDEN / "known.json").write_text(json.dumps(lists, indent=0) + "\n")
    sys.exit(0)
sys.exit(1 if not count or new and "--full" not in sys.argv else 0)
