"""Runs the scripts of tests/portable, which are written for PyTorch, with pyborch as their torch."""
import importlib
import json
import pathlib
import sys

import pyborch

TESTS = pathlib.Path(__file__).resolve().parent
WANTED = json.loads((TESTS / "golden/portable.json").read_text())


def script(name):
    """The module tests/portable/NAME.py."""
    if str(TESTS / "portable") not in sys.path:
        sys.path.insert(0, str(TESTS / "portable"))
    pyborch.install_as_torch()
    return importlib.import_module(name)


def compiled(step, ready=lambda: None):
    """``step`` compiled, with nothing of it left to run eagerly; ``ready`` waits for its kernels, without which it runs eagerly."""
    program = pyborch.compile(step, fullgraph=True)

    def run(*args):
        result = program(*args)
        ready()
        return result
    return run


def differs(found, wanted, tolerance):
    """What is wrong as text; empty where ``found`` is ``wanted`` to a relative ``tolerance``."""
    return "" if abs(found - wanted) <= tolerance * abs(wanted) else f"{found:.6g} instead of {wanted:.6g}"
