"""Freezes the final losses of tests/portable with real PyTorch into tests/golden/portable.json."""
import importlib
import json
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS / "portable"))

import torch  # noqa: E402

torch.set_num_threads(1)
names = sorted(p.stem for p in (TESTS / "portable").glob("*.py") if p.stem != "numbers_alike")
losses = {name: float(f"{importlib.import_module(name).main():.6g}") for name in names}
(TESTS / "golden/portable.json").write_text(json.dumps(losses, indent=1) + "\n")
