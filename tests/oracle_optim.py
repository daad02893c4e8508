"""Freezes tests/optimizing.py with real PyTorch into tests/golden/optim.json."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import optimizing  # noqa: E402
import torch  # noqa: E402
import torch.optim.swa_utils  # noqa: E402

found = {"weights": {name: [optimizing.weights(torch, name, o) for o in options] for name, options in optimizing.OPTIMIZERS.items()},
         "rates": {name: [optimizing.rates(torch, name, o) for o in options] for name, options in optimizing.SCHEDULES.items()},
         "matrix": optimizing.matrix(torch), "valley": [optimizing.valley(torch)]}
(pathlib.Path(__file__).resolve().parent / "golden/optim.json").write_text(json.dumps(found) + "\n")
