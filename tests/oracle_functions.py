"""Freezes tests/functions.py with real PyTorch into tests/golden/functions.json."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import functions  # noqa: E402
import torch  # noqa: E402

(pathlib.Path(__file__).resolve().parent / "golden/functions.json").write_text(json.dumps([functions.outcome(torch, c) for c in functions.CASES]) + "\n")
