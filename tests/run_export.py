"""Exports some programs on WebGPU and prints, a line each: JSON of name, file (base64), inputs, and what pyborch itself gives."""
import base64
import json
import pathlib
import sys

import pyborch as torch
import pyborch.devices
from pyborch import nn
from pyborch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import models  # noqa: E402

torch.set_default_device("webgpu")
torch.manual_seed(1)


def listed(result):
    if isinstance(result, (list, tuple)):
        return [listed(part) for part in result]
    if isinstance(result, dict):
        return {key: listed(part) for key, part in result.items()}
    return {"data": [float(v) for v in result.reshape(-1).tolist()], "shape": list(result.shape), "dtype": result.dtype.name}


def write(name, call, *args):
    with torch.no_grad():
        wanted = listed(call(*args))
    exported = torch.export.export(call, args)
    inputs = {x["name"]: t.reshape(-1).tolist() for x, t in zip(exported.inputs, args)}
    print(json.dumps({"name": name, "file": base64.b64encode(exported.tobytes()).decode(), "inputs": inputs, "wanted": wanted}))


class Words(nn.Module):
    """Token ids and a mask in; nested results, integers and booleans among them."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.register_buffer("order", torch.arange(5))

    def forward(self, tokens, mask):
        x = self.embedding(tokens)
        y, _ = self.attention(x, x, x, key_padding_mask=mask, need_weights=False)
        return {"mean": y.mean(1), "best": (y.argmax(-1) + self.order, [y > 0])}


write("resnet", models.ResNet18(width=8).eval(), torch.randn(2, 3, 32, 32))
write("vit", models.ViT(size=16, patch=4, dim=24, depth=2, heads=3, classes=10).eval(), torch.randn(3, 3, 16, 16))
write("words", Words().eval(), torch.randint(0, 11, (2, 5)), torch.tensor([[False, False, False, True, True], [False] * 5]))
weights = torch.randn(6, 4)
write("function", lambda x: (x @ weights).softmax(-1), torch.randn(7, 6))
if pyborch.devices.backend().has_f16:
    half = nn.Linear(5, 3).half()
    write("half", lambda x: F.relu(half(x.half())), torch.randn(3, 5))
