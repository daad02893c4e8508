"""Freezes tests/layers.py with real PyTorch into tests/golden/layers.json."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import layers  # noqa: E402
import torch  # noqa: E402

(pathlib.Path(__file__).resolve().parent / "golden/layers.json").write_text(json.dumps([layers.outcome(torch, case) for case in layers.CASES]) + "\n")
