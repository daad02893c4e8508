"""Products of int8, four to a word (int32), added up exactly and scaled to float32. See ao/quantization.py for what makes use of them."""
from __future__ import annotations

from ..autograd import apply
from . import conv
from .gemm import Product, Result, plan_product
from .matmul import matrix_side
from .registry import FUNCTIONS, OPS, Op, S, T, pointwise

LOW, HIGH = -128.0, 127.0


# floats to words
def _word(np, a, b, c, d):
    parts = [np.asarray(x, np.int64) & 255 for x in (a, b, c, d)]
    return sum(part << 8 * i for i, part in enumerate(parts)).astype(np.uint32).view(np.int32)


def _int8(m, x, inverse, zero):
    return m.minimum(m.maximum(m._round(x * inverse) + zero, LOW), HIGH)


pointwise("_word", wgsl="bitcast<i32>(pack4xI8(vec4<i32>(i32(a), i32(b), i32(c), i32(d))))", numpy=_word, kind="word", args="abcd", to="", inplace=False)
pointwise("_quantize", lambda m, a, b, c, d, inverse, zero: m._word(*(_int8(m, x, inverse, zero) for x in (a, b, c, d))), kind="word", to="", inplace=False)


def packed(x, inverse, zero, dim):
    """``round(x * inverse) + zero`` within int8, four neighbours along ``dim`` to a word: ``dim`` becomes a quarter as long, rounded up.

    ``inverse`` and ``zero`` are numbers or tensors that broadcast. What fills the last word is zero in int8, or ``zero``.
    """
    dim %= x.dim()
    missing = -x.shape[dim] % 4
    if missing:
        x = FUNCTIONS["F"]["pad"](x, (0, 0) * (x.dim() - 1 - dim) + (0, missing))
    before = (slice(None),) * dim
    return apply(OPS["_quantize"], *[x[(*before, slice(i, None, 4))] for i in range(4)], inverse, zero)


def repeated(zero) -> int:
    """The word of four times one int8."""
    word = int(zero) & 255
    return word * 0x01010101 - (1 << 32 if word > 127 else 0)


def _bytes(np, words, axis):
    """int64 of the four int8 in each word, along ``axis``."""
    words = np.moveaxis(words, axis, -1)
    found = np.ascontiguousarray(words).astype(np.int32).view(np.int8).astype(np.int64)
    return np.moveaxis(found, -1, axis)


class Scaled(Result):
    """A result whose integer is multiplied by a number of ``scale``, which lies as the bias does."""
    __slots__ = ("scale",)

    def __init__(self, *args, scale, plane=None):
        super().__init__(*args, plane=plane)
        self.scale = scale

    def inputs(self):
        return [*super().inputs(), ("scale", self.scale)]

    def scaled(self):
        return "f32(value) * scale[u32(bias_at)]"


# the two primitives: x and w in words; scale and bias float32, one for each output channel
def _convolve_shape(x, w, scale, bias, *, stride, padding, dilation, groups, size, zero):
    return (x.shape[0], w.shape[0], *size), scale.dtype


def _convolve_numpy(np, x, w, scale, bias, *, stride, padding, dilation, groups, size, zero):
    x, w = _bytes(np, x, 1), _bytes(np, w, 1)
    y = conv.convolve_numpy(np, x - zero, w, None, stride=stride, padding=padding, dilation=dilation, groups=groups, size=size)
    y = y + zero * w.sum((1, 2, 3))[:, None, None]
    return y.astype(np.float32) * scale[:, None, None] + bias[:, None, None]


def _convolve_run(plan, x, w, scale, bias, y, *, zero, size, **where):
    x, w, scale, bias = (plan.contiguous(t, True) for t in (x, w, scale, bias))
    conv.into(plan, y, lambda result: conv.plan_convolve(
        plan, x, w, conv.image_result(result, bias, (0, 0), (1, 1), size, Scaled, scale=scale), size=size, outside=repeated(zero), **where))


def _linear_shape(x, w, scale, bias):
    return (*x.shape[:-1], w.shape[0]), scale.dtype


def _linear_numpy(np, x, w, scale, bias):
    return (_bytes(np, x, -1) @ _bytes(np, w, -1).T).astype(np.float32) * scale + bias


def _linear_run(plan, x, w, scale, bias, y):
    x, w, scale, bias = (plan.contiguous(t, True) for t in (x, w, scale, bias))
    rows, depth = x.meta.numel // max(1, x.meta.shape[-1]), x.meta.shape[-1]
    sides = [matrix_side(t, name, (), (), depth, 1) for t, name in ((x, "a"), (w, "b"))]

    def fill(result):
        plan_product(plan, Product(1, rows, w.meta.shape[0], (depth, 1, 1), True), *sides, Scaled(
            result, {"y_offset": result.meta.offset}, "return p.y_offset + row * i32(p.cols);", "return col;", bias, "return 0;", "return col;", scale=scale))
    conv.into(plan, y, fill)


def _words(*shape):
    return T(*shape, dtype="int32", low=-(1 << 31), high=(1 << 31) - 1)


CHANNELS = T(3, low=0.001, high=0.01)
WHERE = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
CONVOLVE = Op("convolution_int8", _convolve_shape, _convolve_run, _convolve_numpy,
              doc="A convolution of int8 images and weights, four to a word, scaled to float32.",
              samples=[S(_words(2, 2, 5, 6), _words(3, 2, 3, 3), CHANNELS, T(3), **WHERE, size=(5, 6), zero=-3),
                       S(_words(1, 1, 6, 5), _words(3, 1, 2, 2), CHANNELS, T(3), **{**WHERE, "stride": (2, 2), "padding": (0, 0)}, size=(3, 2), zero=0)])
LINEAR = Op("linear_int8", _linear_shape, _linear_run, _linear_numpy,
            doc="Rows of int8 times transposed int8 weights, four to a word, scaled to float32.",
            samples=[S(_words(4, 5), _words(3, 5), CHANNELS, T(3)), S(_words(2, 3, 9), _words(3, 9), CHANNELS, T(3))])
