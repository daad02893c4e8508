"""Linear layers whose weights stay in blocks of 4 or 8 bits: GGUF's Q4_0, Q4_1 and Q8_0 as they lie in a file, and plain groups."""
from __future__ import annotations

from collections import namedtuple

from .. import dtypes, kernels
from ..autograd import apply
from . import conv
from .gemm import Product, Result, Side, plan_product
from .matmul import MATMUL, matrix_side
from .registry import FUNCTIONS, OPS, Op, S, T, pointwise

FEW = 4              # rows up to which each weight is read once
MANY = 1 << 16       # threads from which on each takes two outputs, so that a row of x is read once for them


class Form(namedtuple("Form", "bits header zero group")):
    """How numbers lie in blocks: see wgsl/blocks.wgsl."""
    __slots__ = ()

    @property
    def block(self):
        """Bytes of a block."""
        return self.header + self.group * self.bits // 8

    def words(self, numel):
        """int32 words that hold so many numbers."""
        return -(-numel // self.group * self.block // 4)

    def consts(self):
        return {"BITS": self.bits, "HEADER": self.header, "ZERO": self.zero, "GROUP": self.group}


Q4_0, Q4_1, Q8_0 = Form(4, 2, 2, 32), Form(4, 4, 1, 32), Form(8, 2, 0, 32)


# floats to blocks
def _halves(np, a, b):
    pair = np.stack(np.broadcast_arrays(a, b), -1).astype(np.float16)
    return np.ascontiguousarray(pair).view(np.int32)[..., 0]


pointwise("_halves", wgsl="bitcast<i32>(pack2x16float(vec2<f32>(a, b)))", numpy=_halves, kind="word", args="ab", to="", inplace=False)
pointwise("_as_half", wgsl="quantizeToF16(x)", numpy=lambda np, x: x.astype(np.float16).astype(np.float32), kind="float", to="", inplace=False)


def grouped(weight, bits, group):
    """(words, Form) of a weight (out, in): each ``group`` of a row has a float16 scale, and with 4 bits its least number.

    ValueError where in is no multiple of ``group`` or that none of 32.
    """
    outputs, depth = weight.shape
    if group % 32 or depth % group:
        raise ValueError(f"a weight of {depth} inputs cannot be kept in groups of {group}: groups are multiples of 32 that divide the inputs")
    w = weight.reshape(outputs, depth // group, group)
    low = apply(OPS["_as_half"], w.amin(-1, keepdim=True)) if bits == 4 else None
    top = (w - low).amax(-1, keepdim=True) / 15 if bits == 4 else w.abs().amax(-1, keepdim=True) / 127
    scale = apply(OPS["_as_half"], FUNCTIONS["torch"]["clamp"](top, min=2.0 ** -24))
    q = FUNCTIONS["torch"]["round"]((w if low is None else w - low) / scale)
    q = q.clamp(0, 15) if bits == 4 else q.clamp(-127, 127)
    if bits == 4:
        q = q.reshape(outputs, depth // group, group // 32, 2, 16)
        q = q[:, :, :, 0] + 16 * q[:, :, :, 1]
    q = q.reshape(outputs, depth // group, group * bits // 32, 4)
    words = apply(OPS["_word"], *[q[..., i] for i in range(4)])
    header = apply(OPS["_halves"], scale, scale * 0 if low is None else low)
    return FUNCTIONS["torch"]["cat"]([header, words], -1).reshape(-1), Form(bits, 4, 1 if bits == 4 else 0, group)


def floats_of(np, words, form, numel):
    """The float32 numbers of blocks."""
    data = np.ascontiguousarray(words).astype(np.int32).view(np.uint8)[:numel // form.group * form.block].reshape(-1, form.block)
    header = np.ascontiguousarray(data[:, :form.header]).view(np.float16).astype(np.float32)
    q = data[:, form.header:]
    if form.bits == 4:
        parts = q.reshape(len(q), form.group // 32, 1, 16)
        q = np.concatenate([parts & 15, parts >> 4], 2).reshape(len(q), form.group).astype(np.float32)
    else:
        q = np.ascontiguousarray(q).view(np.int8).astype(np.float32)
    added = {0: 0.0, 1: header[:, 1:], 2: -8 * header[:, :1]}[form.zero]
    return (q * header[:, :1] + added).reshape(-1)


def _block_text(form, params, bindings, types=""):
    consts = [f"const {name} = {value}u;" for name, value in form.consts().items()]
    bound = [f"@group(0) @binding({i}) var<storage, {access}> {name}: array<{t}>;" for i, (access, name, t) in enumerate(bindings)]
    return "\n".join([types, *consts, f"struct Params {{ {params} }}", *bound, kernels.source("blocks")])


# the two primitives
def _floats_run(plan, w, y, *, form, shape):
    w = plan.contiguous(w, True)
    kernel = kernels.from_file("blocks_floats", text=_block_text(form, "count: u32", [("read", "w", "u32"), ("read_write", "y", "f32")], "alias T = f32;"))
    plan.dispatch(kernel, [w, y], [y.meta.numel], -(-y.meta.numel // 256))


def _floats_shape(w, *, form, shape):
    return shape, dtypes.float32


def _floats_numpy(np, w, *, form, shape):
    return floats_of(np, w, form, shape[0] * shape[1]).reshape(shape)


def _case(form, *shape):
    """Words of blocks whose scales are finite numbers, and the attributes that go with them."""
    import random
    draw, blocks = random.Random(form.block), shape[0] * shape[1] // form.group
    data = b"".join(bytes([draw.randrange(256), 0x2c] * (form.header // 2) + [draw.randrange(256) for _ in range(form.block - form.header)]) for _ in range(blocks))
    data += bytes(-len(data) % 4)
    words = [int.from_bytes(data[i:i + 4], "little", signed=True) for i in range(0, len(data), 4)]
    return T(len(words), dtype="int32", values=words), {"form": form, "shape": shape}


FORMS = [(Q4_0, 5, 96), (Q4_1, 3, 64), (Q8_0, 3, 96), (Form(4, 4, 1, 64), 6, 128), (Form(8, 4, 0, 128), 2, 256)]
CASES = [_case(*form) for form in FORMS]
FLOATS = Op("blocks_to_floats", _floats_shape, _floats_run, _floats_numpy, doc="Weights in blocks of 4 or 8 bits as floats.",
            samples=[S(w, **where) for w, where in CASES])


def _linear_shape(x, w, bias=None, *, form, shape):
    return (*x.shape[:-1], shape[0]), x.dtype


def _linear_numpy(np, x, w, bias, *, form, shape):
    y = x @ floats_of(np, w, form, shape[0] * shape[1]).reshape(shape).T
    return y if bias is None else y + bias


def _linear_run(plan, x, w, bias, y, *, form, shape):
    x, w = plan.contiguous(x, True), plan.contiguous(w, True)
    rows = x.meta.numel // shape[1]
    conv.into(plan, y, lambda result: (_few if rows <= FEW else _many)(plan, x, w, bias, result, rows, form, shape))


def _few(plan, x, w, bias, y, rows, form, shape):
    outputs, depth = shape
    lanes = next(n for n in (64, 32, 16, 8, 4) if n <= max(4, depth // 16))
    outs = 2 if outputs * lanes >= MANY else 1
    bindings = [("read", "x", "vec4<f32>"), ("read", "w", "u32"), *([("read", "bias", "f32")] if bias else []), ("read_write", "y", "f32")]
    text = _block_text(form, "depth: u32, outputs: u32, bias_offset: u32, bias_step: u32", bindings)
    added = "bias[p.bias_offset + o * p.bias_step]" if bias else "0.0"
    text = f"{text}\nfn bias_of(o: u32) -> f32 {{ return {added}; }}"
    kernel = kernels.from_file("blocks_rows", {"ROWS": rows, "LANES": lanes, "OUTS": outs}, text=text)
    words = [depth, outputs, bias.meta.offset if bias else 0, bias.meta.strides[0] if bias else 0]
    plan.dispatch(kernel, [x, w, *([bias] if bias else []), y], words, -(-outputs // (64 // lanes * outs)))


class _Blocks(Side):
    """Columns of a product that lie in blocks."""
    __slots__ = ("form",)

    def __init__(self, operand, form, depth):
        super().__init__(operand, {"b_row": depth}, "return row * p.b_row;", "return k0;", fast=True)
        self.form = form

    def text(self, name):
        consts = [f"const {n} = {value}u;" for n, value in self.form.consts().items()]
        blocks = kernels.source("blocks").replace("w[i]", f"u32({name}[i])").replace("w[i + 1u]", f"u32({name}[i + 1u])")
        return "\n".join([*consts, blocks, self.places(name), f"fn {name}_load(at: i32) -> ELEMENT {{ return number_at(u32(at)); }}"])


def _many(plan, x, w, bias, y, rows, form, shape):
    outputs, depth = shape
    fields = {"y_offset": y.meta.offset, **({"c_offset": bias.meta.offset, "c_col": bias.meta.strides[0]} if bias else {})}
    places = ["return p.y_offset + row * i32(p.cols);", "return col;"]
    result = Result(y, fields, *places, bias, "return p.c_offset;", "return col * p.c_col;") if bias else Result(y, fields, *places)
    plan_product(plan, Product(1, rows, outputs, (depth, 1, 1)), matrix_side(x, "a", (), (), depth, 1), _Blocks(w, form, depth), result)


def _x_gradient(g, w, form, shape):
    return apply(MATMUL, g, apply(FLOATS, w, form=form, shape=shape), None)


LINEAR = Op("linear_blocks", _linear_shape, _linear_run, _linear_numpy, {"x": _x_gradient, "bias": lambda g: g},
            doc="Rows times transposed weights that stay in blocks of 4 or 8 bits.",
            samples=[S(T(rows, where["shape"][1], grad=False), w, T(where["shape"][0], grad=False), tol=1e-3, **where) for w, where in CASES for rows in (1, 7)] + [
                S(T(2, CASES[0][1]["shape"][1], grad=False), CASES[0][0], None, tol=1e-3, **CASES[0][1])])
