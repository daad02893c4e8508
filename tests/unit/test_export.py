"""Exported programs: what is in the file, and what cannot be one."""
import io
import json

import pytest

import pyborch as torch
from pyborch import export, nn
from pyborch.io import safetensors


def test_the_file_is_a_safetensors_file_with_the_weights_by_name(device):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    exported = export.export(model, (torch.ones(2, 4),))
    assert [(x["name"], x["dtype"], x["shape"]) for x in exported.inputs] == [("input", "float32", [2, 4])]
    assert [x["shape"] for x in exported.outputs] == [[2, 3]]
    file = io.BytesIO()
    export.save(exported, file)
    header, metadata, _ = safetensors.read_header(file.getvalue())
    assert {name: entry["shape"] for name, entry in header.items()} == {"0.weight": [8, 4], "0.bias": [8], "2.weight": [3, 8], "2.bias": [3]}
    program = json.loads(metadata["pyborch"])
    assert len(program["steps"]) == len(exported.steps) and program["tree"] == {"result": 0}
    assert repr(exported).startswith("ExportedProgram(input: float32[2, 4]) -> result0: float32[2, 3]: ")


def test_kernels_share_their_common_text(device):
    exported = export.export(lambda x: (x.cumsum(0).exp(), x.sort(0).values.log()), (torch.ones(5, 300),))
    program = exported.description()
    assert sum("//#prelude\n" in kernel["code"] for kernel in program["kernels"]) == len(program["kernels"]) > 1
    assert "fn group_index" in program["texts"]["prelude"]


def test_what_needs_python_at_each_run_is_refused(device):
    with pytest.raises(RuntimeError, match=r"needs Python at each run \(random numbers or step counts\)"):
        export.export(lambda x: x + torch.rand(3), (torch.ones(3),))
    with pytest.raises(torch.CaptureError, match="reading a value"):
        export.export(lambda x: x * x.sum().item(), (torch.ones(3),))
    with pytest.raises(RuntimeError, match=r"an argument requires gradients; detach\(\) it"):
        export.export(lambda x: x * 2, (torch.ones(3, requires_grad=True),))


def test_the_cpu_device_has_nothing_to_export():
    torch.set_default_device("cpu")
    with pytest.raises(RuntimeError, match="ran no work on WebGPU"):
        export.export(nn.Linear(2, 2), (torch.ones(1, 2),))
