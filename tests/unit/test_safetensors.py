"""safetensors: what is written is read again, and a broken file is refused with a reason."""
import asyncio
import json
import struct

import pytest

import pyborch as torch
from pyborch.io import safetensors
from pyborch.io.safetensors import SafetensorError


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.set_default_device("cpu")


def file_of(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype, shape, start, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def test_a_round_trip_keeps_values_shapes_dtypes_and_metadata(tmp_path):
    tensors = {"w": torch.tensor([[1.5, -2.0], [3.0, 4.0]]), "n": torch.tensor([1, -2, 3]), "m": torch.tensor([True, False, True]),
               "h": torch.tensor([1.0, 65504.0], dtype=torch.float16), "e": torch.zeros(0, 3), "s": torch.tensor(2.5),
               "t": torch.arange(6.0).reshape(2, 3).t()}
    safetensors.save_file(tensors, tmp_path / "x.safetensors", {"made": "here"})
    found = safetensors.load_file(tmp_path / "x.safetensors")
    assert set(found) == set(tensors)
    for name, t in tensors.items():
        assert (found[name].dtype, found[name].shape, found[name].tolist()) == (t.dtype, t.shape, t.tolist())
    with safetensors.safe_open(tmp_path / "x.safetensors") as file:
        assert file.metadata() == {"made": "here"}
        assert file.get_tensor("n").tolist() == [1, -2, 3]
        with pytest.raises(SafetensorError, match="does not contain tensor x"):
            file.get_tensor("x")


FOUR = b"\0" * 4
BROKEN = {
    "empty": (b"", "header too small"),
    "seven bytes": (b"\0" * 7, "header too small"),
    "length 0": (struct.pack("<Q", 0), "invalid start character"),
    "length 2^63": (struct.pack("<Q", 1 << 63) + b"{}", "header too large"),
    "length over the limit": (struct.pack("<Q", 100_000_001) + b"{}", "header too large"),
    "length over the file": (struct.pack("<Q", 99) + b"{}", "invalid header length"),
    "no JSON": (file_of(b"{nonsense"), "invalid JSON"),
    "a JSON array": (file_of(b"[]"), "invalid start character"),
    "a leading space": (file_of(b" {}"), "invalid start character"),
    "bad UTF-8": (file_of(b'{"\xff": 1}'), "invalid UTF-8"),
    "duplicate names": (file_of(b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "a": 1}', FOUR), "duplicate key"),
    "trailing bytes": (file_of({"a": entry("F32", [1], 0, 4)}, FOUR + b"x"), "not fully covered"),
    "truncated data": (file_of({"a": entry("F32", [1], 0, 4)}, b"\0" * 3), "not fully covered"),
    "a hole": (file_of({"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 8, 12)}, b"\0" * 12), "invalid offset"),
    "an overlap": (file_of({"a": entry("F32", [2], 0, 8), "b": entry("F32", [1], 4, 8)}, b"\0" * 8), "invalid offset"),
    "identical ranges": (file_of({"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 0, 4)}, FOUR), "invalid offset"),
    "begin after end": (file_of({"a": entry("F32", [1], 4, 0)}, FOUR), "invalid shape"),
    "size unlike shape": (file_of({"a": entry("F32", [2], 0, 4)}, FOUR), "invalid shape"),
    "unknown dtype": (file_of({"a": entry("Q7", [1], 0, 4)}, FOUR), "unknown dtype"),
    "a dtype that is no text": (file_of({"a": entry(["F32"], [1], 0, 4)}, FOUR), "unknown dtype"),
    "three offsets": (file_of({"a": entry("F32", [1], 0, 4) | {"data_offsets": [0, 4, 4]}}, FOUR), "must be two numbers"),
    "a negative offset": (file_of({"a": entry("F32", [1], -4, 0)}, FOUR), "data_offsets must be"),
    "a fractional offset": (file_of({"a": entry("F32", [1], 0, 4.0)}, FOUR), "data_offsets must be"),
    "no offsets": (file_of({"a": {"dtype": "F32", "shape": [1]}}, FOUR), "needs dtype, shape and data_offsets"),
    "an entry that is no object": (file_of({"a": 1}), "needs dtype, shape and data_offsets"),
    "a negative size": (file_of({"a": entry("F32", [-1], 0, 4)}, FOUR), "shape must be"),
    "a fractional size": (file_of({"a": entry("F32", [1.0], 0, 4)}, FOUR), "shape must be"),
    "an overflowing shape": (file_of({"a": entry("F32", [1 << 40, 1 << 40], 0, 4)}, FOUR), "overflow"),
    "metadata that is no text": (file_of({"__metadata__": {"a": 1}}), "__metadata__"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused(name, tmp_path):
    data, words = BROKEN[name]
    with pytest.raises(SafetensorError, match=words):
        safetensors.load(data)
    path = tmp_path / "broken.safetensors"
    path.write_bytes(data)
    with pytest.raises(SafetensorError):
        safetensors.safe_open(path)


def test_valid_edges_are_accepted():
    assert safetensors.load(file_of(b"{}")) == {}
    assert safetensors.load(file_of({"__metadata__": {"a": "b"}})) == {}
    assert safetensors.load(file_of(b"{}   ")) == {}
    found = safetensors.load(file_of({"z": entry("F32", [], 1, 5), "b": entry("BOOL", [1], 0, 1), "e": entry("F32", [0, 3], 0, 0)},
                                     b"\1" + struct.pack("<f", 2.5)))
    assert found["z"].item() == 2.5 and found["b"].tolist() == [True] and tuple(found["e"].shape) == (0, 3)
    assert safetensors.load(file_of({"a": entry("F32", [1], 0, 4) | {"note": 1}}, FOUR))["a"].tolist() == [0]  # unknown fields are passed over
    odd = safetensors.load(file_of({"b": entry("BOOL", [1], 0, 1), "n": entry("I64", [1], 1, 9)}, b"\1" + struct.pack("<q", -5)))
    assert odd["n"].tolist() == [-5]


def test_bfloat16_is_read_as_float32():
    bits = [0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0x0001, 0x3F81]
    found = safetensors.load(file_of({"x": entry("BF16", [7], 0, 14)}, struct.pack("<7H", *bits)))["x"]
    values = found.tolist()
    assert found.dtype is torch.float32
    assert values[:4] == [1.0, -1.0, float("inf"), float("-inf")] and values[4] != values[4]
    assert values[5] == pytest.approx(9.18e-41, rel=1e-3) and values[6] == 1.0078125


def test_float16_edges():
    found = safetensors.load(file_of({"x": entry("F16", [4], 0, 8)}, struct.pack("<4H", 0x7BFF, 1, 0x7C00, 0x3C01)))["x"].tolist()
    assert found[0] == 65504 and found[1] == pytest.approx(5.96e-8, rel=1e-3) and found[2] == float("inf") and found[3] == pytest.approx(1.0009766)


def test_float8_is_read_as_float32():
    found = safetensors.load(file_of({"a": entry("F8_E4M3", [5], 0, 5), "b": entry("F8_E5M2", [5], 5, 10)},
                                     bytes([0x38, 0x7E, 0x7F, 0x01, 0xB8]) + bytes([0x3C, 0x7B, 0x7C, 0x01, 0xFC])))
    a, b = found["a"].tolist(), found["b"].tolist()
    assert a[:2] == [1, 448] and a[2] != a[2] and a[3:] == [0.001953125, -1]
    assert b == [1, 57344, float("inf"), 2.0 ** -16, float("-inf")]


def test_a_dtype_without_counterpart_is_named_and_leaves_the_others_readable(tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(file_of({"c": entry("C64", [1], 0, 8), "a": entry("F32", [1], 8, 12)}, b"\0" * 12))
    with safetensors.safe_open(path) as file:
        assert file.get_tensor("a").tolist() == [0]
        with pytest.raises(TypeError, match="C64"):
            file.get_tensor("c")


@pytest.mark.parametrize("index", [slice(1, 3), slice(None), slice(-2, None), slice(3, 1), slice(0, 4, 2), 2, -1, (slice(1, 3), 0), (2, slice(1)), ...])
def test_a_slice_is_read_as_the_tensor_is_indexed(tmp_path, index):
    t = torch.arange(12.0).reshape(4, 3)
    safetensors.save_file({"n": torch.tensor([7, 8]), "t": t}, tmp_path / "x.safetensors")
    with safetensors.safe_open(tmp_path / "x.safetensors") as file:
        part = file.get_slice("t")
        assert (part.get_shape(), part.get_dtype()) == ([4, 3], "F32")
        assert part[index].tolist() == t[index].tolist()
        assert tuple(part[index].shape) == tuple(t[index].shape)


def test_a_file_on_the_web_comes_with_progress_and_is_checked(tmp_path):
    path, seen = tmp_path / "x.safetensors", []
    safetensors.save_file({"t": torch.arange(400_000.0)}, path)
    found = asyncio.run(safetensors.load_url(path.as_uri(), progress=lambda at, total: seen.append((at, total))))
    size = path.stat().st_size
    assert found["t"][-1].item() == 399_999
    assert len(seen) > 1 and seen[-1] == (size, size) and seen == sorted(seen)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SafetensorError, match="not fully covered"):
        asyncio.run(safetensors.load_url(path.as_uri()))


def test_tensors_that_share_memory_are_refused_by_name():
    w = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match=r"\['a', 'b'\]"):
        safetensors.save({"a": w, "b": w.t()})
    with pytest.raises(ValueError, match="Key `a` is invalid"):
        safetensors.save({"a": 1})


def test_pickles_are_refused(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(b"PK\3\4rest")
    with pytest.raises(SafetensorError, match="pickle"):
        torch.load(path)
    torch.save({"x": torch.ones(2)}, path)
    assert torch.load(path)["x"].tolist() == [1, 1]
