"""int8 layers: the arithmetic they promise, and what they refuse."""
import copy
import struct

import pytest

import pyborch as torch
from pyborch import nn
from pyborch.ao import quantization
from pyborch.nn import functional as F
from pyborch.ops import quantized


def int8(x, scale, zero):
    """What int8 keeps of x."""
    return (torch.clamp(torch.round(x * (1 / scale)) + zero, -128, 127) - zero) * scale


def by_channel(weight):
    scale = weight.abs().flatten(1).amax(1).reshape(-1, *[1] * (weight.dim() - 1)) / 127
    return torch.round(weight / scale) * scale


LAYERS = [(nn.Conv2d(3, 5, 3, padding=1), (2, 3, 7, 8)), (nn.Conv2d(8, 6, (3, 2), stride=2, padding=(2, 1), dilation=2), (2, 8, 9, 9)),
          (nn.Conv2d(16, 8, 3, groups=2, bias=False), (1, 16, 6, 5)), (nn.Conv2d(6, 4, 1), (6, 5, 5)), (nn.Linear(10, 7), (3, 4, 10)),
          (nn.Linear(5, 3, bias=False), (5,))]


def calibrated(layer, x):
    prepared = quantization.prepare(layer)
    prepared(x)
    return quantization.convert(prepared)


@pytest.mark.parametrize("layer, shape", LAYERS, ids=[str(layer) for layer, _ in LAYERS])
def test_a_layer_is_the_float_layer_of_rounded_numbers(layer, shape):
    torch.manual_seed(1)
    x = torch.randn(*shape) + 0.7
    made = calibrated(layer, x)
    expected = copy.deepcopy(layer)
    with torch.no_grad():
        expected.weight.copy_(by_channel(layer.weight))
        wanted = expected(int8(x, made.input_scale, made.zero_point))
        found = made(x)
        exact = layer(x)
    assert found.shape == wanted.shape and found.dtype is torch.float32
    assert (found - wanted).abs().max().item() < 2e-5
    assert (found - exact).abs().max().item() < 0.03 * exact.abs().max().item()


def test_ranges_hold_zero_and_scales_are_pytorchs():
    observer = quantization.MinMaxObserver()
    for low, high, scale, zero in ((-1.0, 3.0, 4 / 255, -64), (0.5, 2.0, 2 / 255, -128), (-3.0, -1.0, 3 / 255, 127), (0.0, 0.0, quantization.SMALLEST, -128)):
        observer.reset_min_max_vals()
        observer(torch.tensor([low, high]))
        assert observer.calculate_qparams() == (pytest.approx(scale), zero)


def test_words_hold_four_int8():
    x = torch.tensor([[-200.0, -1.0, 0.5, 1.5, 300.0]])
    assert quantized.packed(x, 1.0, 0.0, 1).tolist() == [[int.from_bytes(bytes([128, 255, 0, 2]), "little"), 127]]
    assert quantized.packed(x.t(), 1.0, 3.0, 0).shape == (2, 1)
    assert quantized.repeated(-128) == -2139062144 and quantized.repeated(5) == 0x05050505


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(F.adaptive_avg_pool2d(self.body(x), 1).flatten(1))


def test_a_model_is_converted_where_it_can_be():
    torch.manual_seed(2)
    model, x = Small().eval(), torch.randn(4, 1, 9, 9)
    made = calibrated(model, x)
    assert isinstance(made.body[0], quantization.Int8Conv2d) and isinstance(made.fc, quantization.Int8Linear) and type(model.fc) is nn.Linear
    assert (made(x) - model(x)).abs().max().item() < 0.05
    again = calibrated(Small().eval(), x)
    again.load_state_dict(made.state_dict())
    assert again(x).tolist() == made(x).tolist()
    assert "zero_point=" in repr(made)


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.relu = nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU()
        self.tail = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, affine=False))

    def forward(self, x):
        return self.tail(self.relu(self.bn(self.conv(x))).mean((2, 3)))


def test_batch_norms_become_part_of_the_layers_before_them():
    torch.manual_seed(3)
    model, x = Normed(), torch.randn(5, 2, 6, 6)
    for _ in range(3):
        model(x * 2 + 1)
    with pytest.raises(RuntimeError, match="call model.eval"):
        quantization.fuse_modules(model, ["conv", "bn"])
    wanted = model.eval()(x)
    fused = quantization.fuse_modules(model, [["conv", "bn", "relu"], ["tail.0", "tail.1"]])
    assert (fused(x) - wanted).abs().max().item() < 1e-5 and type(fused.bn) is type(fused.relu) is type(fused.tail[1]) is nn.Identity
    assert model(x).tolist() == wanted.tolist() and fused.conv[0].bias is not None
    with pytest.raises(NotImplementedError, match="Cannot fuse modules"):
        quantization.fuse_modules(model, ["conv", "relu"])
    assert (calibrated(fused, x)(x) - wanted).abs().max().item() < 0.1


def test_what_cannot_be_done_is_said():
    with pytest.raises(ValueError, match="no Conv2d or Linear"):
        quantization.prepare(nn.Sequential(nn.ReLU()))
    with pytest.raises(RuntimeError, match="no data has gone through this layer"):
        quantization.convert(quantization.prepare(nn.Linear(2, 2)))
    with pytest.raises(RuntimeError, match="expected 5 features in the last dim, got input of shape .1, 4."):
        calibrated(nn.Linear(5, 2), torch.randn(1, 5))(torch.randn(1, 4))
    with pytest.raises(RuntimeError, match="to have 9 channels, but got 30"):
        calibrated(nn.Conv2d(9, 2, 1), torch.randn(1, 9, 2, 2))(torch.randn(1, 30, 2, 2))


def gguf(kind, rows):
    """Blocks of GGUF, written down from its description, and the numbers that they stand for."""
    data, numbers = b"", []
    for row in rows:
        scale, least, q = row
        if kind == "Q8_0":
            data += struct.pack("<e32b", scale, *q)
            numbers.append([scale * v for v in q])
            continue
        data += struct.pack("<e", scale) if kind == "Q4_0" else struct.pack("<ee", scale, least)
        data += bytes(q[j] | q[j + 16] << 4 for j in range(16))
        numbers.append([(v - 8) * scale if kind == "Q4_0" else v * scale + least for v in q])
    return data, torch.tensor(numbers)


def blocks_of(kind, count):
    low, many = (-128, 256) if kind == "Q8_0" else (0, 16)
    return [(0.25 * (n % 7 + 1), n % 5 - 2.0, [low + (n * 31 + 7 * k) % many for k in range(32)]) for n in range(count)]


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0"])
def test_blocks_of_gguf_files_are_weights_as_they_lie(kind):
    data, numbers = gguf(kind, blocks_of(kind, 15))
    layer = quantization.BlockLinear.from_bytes(data, kind, 96, 5, torch.arange(5.0))
    weight = numbers.reshape(5, 96)
    assert layer.dequantize().tolist() == weight.tolist()
    x = (torch.arange(3 * 96.0).reshape(3, 96).sin() * 4).requires_grad_()
    found, wanted = layer(x), F.linear(x, weight, torch.arange(5.0))
    assert (found - wanted).abs().max().item() < 1e-3
    grads = [torch.autograd.grad((y * y.detach()).sum(), x)[0] for y in (found, wanted)]
    assert ((grads[0] - grads[1]).abs() / (1 + grads[1].abs())).max().item() < 1e-5


@pytest.mark.parametrize("config, worst", [(quantization.Int4WeightOnlyConfig(32), 0.08), (quantization.Int4WeightOnlyConfig(64), 0.09),
                                           (quantization.Int8WeightOnlyConfig(), 0.01), (quantization.Int8WeightOnlyConfig(32), 0.008)])
def test_linear_layers_keep_their_weights_in_few_bits(config, worst):
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 64), nn.Linear(64, 7, bias=False))
    weights = [model[0].weight.detach().clone(), model[3].weight.detach().clone()]
    quantization.quantize_(model, config)
    kinds = [type(layer).__name__ for layer in model]
    assert kinds[0] == kinds[3] == "BlockLinear" and kinds[2] == "Linear"
    for layer, weight in zip((model[0], model[3]), weights):
        assert (layer.dequantize() - weight).abs().max().item() < worst * weight.abs().max().item()
        assert layer.weight.numel() * 4 <= weight.numel() * (config.bits / 8 + 1 / 8)
    x = torch.randn(2, 64)
    wanted = model(x)
    other = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 64), nn.Linear(64, 7, bias=False))
    quantization.quantize_(other, config)
    other.load_state_dict(model.state_dict())
    assert other(x).tolist() == wanted.tolist() and f"bits={config.bits}" in repr(other)


def test_blocks_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="100 bytes do not make a weight of 2 x 64"):
        quantization.BlockLinear.from_bytes(bytes(100), "Q4_0", 64, 2)
    with pytest.raises(ValueError, match="'Q5_K' are not known; there are: Q4_0, Q4_1, Q8_0"):
        quantization.BlockLinear.from_bytes(bytes(100), "Q5_K", 64, 2)
    with pytest.raises(ValueError, match="50 inputs cannot be kept in groups of 50"):
        quantization.quantize_(nn.Sequential(nn.Linear(50, 2)), quantization.Int8WeightOnlyConfig(), lambda layer, name: True)
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied .3x5 and 64x2."):
        quantization.BlockLinear.from_bytes(bytes(72), "Q4_0", 64, 2)(torch.ones(3, 5))
