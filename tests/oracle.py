"""Freezes the ops' samples with real PyTorch into tests/golden: run it with a Python that has torch 2.13; running again changes nothing."""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import samples  # noqa: E402
import torch  # noqa: E402

from pyborch.ops.registry import RECORDS, T  # noqa: E402

torch.manual_seed(0)
torch.set_num_threads(1)


def family_of(record):
    return record.function.__module__.split(".")[-1]


def main():
    runner, families, missing = samples.Runner(torch, T), {}, []
    for key, record in RECORDS.items():
        if not record.samples:
            continue
        try:
            function = samples.functions_of(torch, record)
        except AttributeError as error:
            missing.append(str(error))
            continue
        goldens = []
        for i, s in enumerate(record.samples):
            try:
                result = runner.run(function, record.name, i, s)
            except Exception as error:  # noqa: BLE001 shown to whoever freezes; the sample is to be changed
                missing.append(f"{key}[{i}]: {type(error).__name__} {error}")
                goldens.append(None)
                continue
            if "error" in result:
                missing.append(f"{key}[{i}] raises {result['error']}")
            else:
                result = {part: [None if v is None else samples.pack(v) for v in result[part]] for part in ("out", "grad")}
            goldens.append(result)
        families.setdefault(family_of(record), {})[key] = goldens
    samples.GOLDEN.mkdir(exist_ok=True)
    for family, records in families.items():
        lines = [f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in sorted(records.items())]
        (samples.GOLDEN / f"ops-{family}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(*missing, sep="\n")


main()
