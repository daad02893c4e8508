"""Freezes printed forms, indexing and error messages of tests/semantics.py with real PyTorch into tests/golden/semantics.json."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import semantics  # noqa: E402
import torch  # noqa: E402

path = pathlib.Path(__file__).resolve().parent / "golden/semantics.json"
found = {name: [semantics.outcome(case, torch) for case in cases] for name, cases in semantics.CASES.items()}
path.write_text("{\n" + ",\n".join(f'"{name}": {json.dumps(v)}' for name, v in found.items()) + "\n}\n")
