"""Freezes the loss curve of tests/curve.py with real PyTorch into tests/golden/curve.json."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import curve  # noqa: E402
import torch  # noqa: E402

torch.set_num_threads(1)
path = pathlib.Path(__file__).resolve().parent / "golden/curve.json"
path.write_text(json.dumps([float(f"{v:.6g}") for v in curve.losses(torch)]) + "\n")
