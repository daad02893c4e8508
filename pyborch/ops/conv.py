"""Convolutions over (N, C, H, W). The three ops are the derivatives of one trilinear form of (x, w, u), u being shaped like the output:
CONVOLVE gives u's, TRANSPOSED x's and WEIGHTS w's, so that each one's gradients are the other two."""
from __future__ import annotations

from .. import dtypes, kernels
from ..autograd import apply
from . import pointwise_plan
from .gemm import Product, Result, Side, plan_product, plan_products
from .matmul import upcast
from .reduce_plan import SUMS, plan_reduce
from .registry import Op, S, T
from .sort_plan import bound

TAPS = 49            # of a depthwise convolution's weights that a thread sums at once

# Sizes of an image are literals of the kernel (no loads in the inner loop), its place and the batch are parameters.


# shapes: ``size`` is the height and width of the result
def _convolve_shape(x, w, b=None, *, stride, padding, dilation, groups, size):
    return (x.shape[0], w.shape[0], *size), x.dtype


def _transposed_shape(x, w, b=None, *, stride, padding, dilation, groups, size):
    return (x.shape[0], w.shape[1] * groups, *size), x.dtype


def _weights_shape(u, x, *, stride, padding, dilation, groups, size):
    return (u.shape[1], x.shape[1] // groups, *size), x.dtype


# numpy: patches of the image as a matrix
def _patches(np, x, kernel, stride, padding, dilation, groups, size):
    """(groups, channels * taps, images * positions) of the values that meet each tap."""
    n, c, h, w = x.shape
    need = [(size[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - padding[i] - x.shape[2 + i] for i in (0, 1)]
    if any(padding) or max(need) > 0:
        x = np.pad(x, ((0, 0), (0, 0), (padding[0], max(0, need[0])), (padding[1], max(0, need[1]))))
    sn, sc, sh, sw = x.strides
    strides = (sc, sh * dilation[0], sw * dilation[1], sn, sh * stride[0], sw * stride[1])
    view = np.lib.stride_tricks.as_strided(x, (c, *kernel, n, *size), strides)
    return np.ascontiguousarray(view).reshape(groups, c // groups * kernel[0] * kernel[1], n * size[0] * size[1])


def _grouped(u, groups):
    """(N, C, H, W) as (groups, C / groups, N * H * W)."""
    n, c, h, w = u.shape
    return u.transpose(1, 0, 2, 3).reshape(groups, c // groups, n * h * w)


def convolve_numpy(np, x, w, b, *, stride, padding, dilation, groups, size):
    x, w, b = upcast(np, x, w, b)
    patches = _patches(np, x, w.shape[2:], stride, padding, dilation, groups, size)
    y = np.matmul(w.reshape(groups, w.shape[0] // groups, -1), patches).reshape(w.shape[0], x.shape[0], *size).transpose(1, 0, 2, 3)
    return y if b is None else y + b[:, None, None]


def _weights_numpy(np, u, x, *, stride, padding, dilation, groups, size):
    u, x = upcast(np, u, x)
    patches = _patches(np, x, size, stride, padding, dilation, groups, u.shape[2:])
    return np.matmul(_grouped(u, groups), patches.transpose(0, 2, 1)).reshape(u.shape[1], x.shape[1] // groups, *size)


def _transposed_numpy(np, x, w, b, *, stride, padding, dilation, groups, size):
    x, w, b = upcast(np, x, w, b)
    (n, c, h, wide), (_, out, kh, kw) = x.shape, w.shape
    spread = np.matmul(w.reshape(groups, c // groups, out * kh * kw).transpose(0, 2, 1), _grouped(x, groups))
    spread = spread.reshape(groups * out, kh, kw, n, h, wide)
    need = [max(size[i] + padding[i], (x.shape[2 + i] - 1) * stride[i] + (w.shape[2 + i] - 1) * dilation[i] + 1) for i in (0, 1)]
    y = np.zeros((groups * out, n, *need), spread.dtype)
    for i in range(kh):
        for j in range(kw):
            top, left = i * dilation[0], j * dilation[1]
            y[:, :, top:top + (h - 1) * stride[0] + 1:stride[0], left:left + (wide - 1) * stride[1] + 1:stride[1]] += spread[:, i, j]
    y = y[:, :, padding[0]:padding[0] + size[0], padding[1]:padding[1] + size[1]].transpose(1, 0, 2, 3)
    return y if b is None else y + b[:, None, None]


# GPU: implicit matrix products
def into(plan, y, fill):
    """Run ``fill`` with a row-major result."""
    if y.meta.contiguous:
        return fill(y)
    result = plan.temp(y.meta.shape, y.meta.dtype)
    fill(result)
    pointwise_plan.copy(plan, result, y)
    return None


def image_result(y, bias, first, step, count, kind=Result, **more):
    """Rows are channels of a group, columns are images and, of each, ``count`` positions from ``first`` in ``step``."""
    fields, (_, channels, height, width) = {"y_offset": y.meta.offset}, y.meta.shape
    plane, positions = height * width, count[0] * count[1]
    more["plane"] = plane if step == (1, 1) else None
    inside = f"col % {positions}" if step == (1, 1) else (
        f"col % {positions} / {count[1]} * {step[0] * width} + col % {count[1]} * {step[1]} + {first[0] * width + first[1]}")
    places = [f"return p.y_offset + (batch * i32(p.rows) + row) * {plane};", f"return col / {positions} * {channels * plane} + {inside};"]
    if bias is None:
        return kind(y, fields, *places, **more)
    fields.update({"c_offset": bias.meta.offset, "c_step": bias.meta.strides[0]})
    return kind(y, fields, *places, bias, "return p.c_offset + (batch * i32(p.rows) + row) * p.c_step;", **more)


def _fits(x, before, reach):
    """Whether no window leaves the image."""
    return max(before) <= 0 and reach[0] <= x.meta.shape[2] and reach[1] <= x.meta.shape[3]


def _image_side(x, before, reach, row, step, fast=False, outside=None):
    """The side that reads windows of an image, with tests of its borders only where they are needed; ``outside`` is the word read beyond them.

    ``row`` (of H, W) gives WGSL that sets start, y and x; ``step`` (of H, W) that sets advance, dy and dx. ``before``: how far windows begin
    above and left of the image; ``reach``: where they end, counted from its first row and column.
    """
    h, w = x.meta.shape[2:]
    row, step, fields = row(h, w), step(h, w), {"b_offset": x.meta.offset, **({} if outside is None else {"b_outside": outside})}
    if _fits(x, before, reach):
        return Side(x, fields, row + " return start;", step + " return advance;", fast=fast)
    return Side(x, fields, row + " return vec3<i32>(start, y, x);", step + " return vec3<i32>(advance, dy, dx);",
                f"u32(at.y) < {h}u && u32(at.z) < {w}u", fast=fast, outside="0" if outside is None else "p.b_outside")


def _reach(size, stride, kernel, dilation, padding):
    return [(size[i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - padding[i] for i in (0, 1)]


def _convolve_run(plan, x, w, b, y, **where):
    x, w = plan.contiguous(x), plan.contiguous(w)
    into(plan, y, lambda result: plan_convolve(plan, x, w, image_result(result, b, (0, 0), (1, 1), where["size"]), **where))


def _walk(plan, channels, rows, cols):
    """(steps, names of the channel, row and column in them): the longest loop goes innermost on a software adapter."""
    if plan.device.software and channels > cols:
        return (rows, cols, channels), ("k2", "k0", "k1")
    return (channels, rows, cols), ("k0", "k1", "k2")


def plan_convolve(plan, x, w, result, *, stride, padding, dilation, groups, size, outside=None):
    """The product of a convolution of contiguous ``x`` and ``w``. ``outside``: their elements are words of four int8 channels each, and this one
    lies around the image."""
    out, channels, kh, kw = w.meta.shape
    n, taps = x.meta.shape[0], channels * kh * kw
    steps, (c, i, j) = _walk(plan, channels, kh, kw)
    a = Side(w, {"a_offset": w.meta.offset}, f"return p.a_offset + (batch * i32(p.rows) + row) * {taps};",
             f"return {c} * {kh * kw} + {i} * {kw} + {j};", fast=True)

    def row(h, wide):
        return (f"let at = row % {size[0] * size[1]}; let y = at / {size[1]} * {stride[0]} - {padding[0]}; "
                f"let x = at % {size[1]} * {stride[1]} - {padding[1]}; let start = p.b_offset + "
                f"(row / {size[0] * size[1]} * {groups * channels} + batch * {channels}) * {h * wide} + y * {wide} + x;")

    def step(h, wide):
        return (f"let dy = {i} * {dilation[0]}; let dx = {j} * {dilation[1]}; "
                f"let advance = {c} * {h * wide} + {i} * {dilation[0] * wide} + dx;")
    side = _image_side(x, padding, _reach(size, stride, (kh, kw), dilation, padding), row, step, outside=outside)
    plan_product(plan, Product(groups, out // groups, n * size[0] * size[1], steps, outside is not None), a, side, result)


def _weights_run(plan, u, x, y, **where):
    u, x = plan.contiguous(u), plan.contiguous(x)
    _, channels, kh, kw = y.meta.shape
    depthwise = channels == 1 and kh * kw <= TAPS and where["groups"] > 1 and not plan.device.software and x.meta.numel and y.meta.dtype.compute == "f32"
    into(plan, y, lambda result: (_plan_depthwise if depthwise else _plan_weights)(plan, u, x, result, **where))


def _plan_depthwise(plan, u, x, y, *, stride, padding, dilation, groups, size):
    """Sums over places, so many workgroups for each channel that the device is busy."""
    n, out, oh, ow = u.meta.shape
    places, taps = n * oh * ow, size[0] * size[1]
    parts = max(1, min(1024 // out, places // 4096))
    part = -(-places // parts)
    sums = y if parts == 1 else plan.temp((parts, *y.meta.shape), dtypes.float32)
    consts = {"TAPS": taps, "KW": size[1], "DY": dilation[0], "DX": dilation[1], "SY": stride[0], "SX": stride[1], "PY": padding[0], "PX": padding[1],
              "H": x.meta.shape[2], "W": x.meta.shape[3], "OH": oh, "OW": ow, "SHARED": out // groups}
    text = bound(("u", u), ("x", x), ("y", sums), written=1)
    words = [out, parts, places, part, u.meta.offset, x.meta.offset, sums.meta.offset]
    plan.dispatch(kernels.from_file("depthwise_weights", consts, {"T": sums.meta.dtype.wgsl}, text), [u, x, sums], words, out * parts)
    if parts > 1:
        plan_reduce(plan, [sums], [y], (0,), SUMS["f32"])


def _plan_weights(plan, u, x, y, *, stride, padding, dilation, groups, size):
    out, channels, kh, kw = y.meta.shape
    n, _, oh, ow = u.meta.shape
    a = Side(u, {"a_offset": u.meta.offset}, f"return p.a_offset + (batch * i32(p.rows) + row) * {oh * ow};",
             f"return k0 * {u.meta.shape[1] * oh * ow} + k1 * {ow} + k2;", fast=True)

    def row(h, wide):
        return (f"let tap = row % {kh * kw}; let y = tap / {kw} * {dilation[0]} - {padding[0]}; "
                f"let x = tap % {kw} * {dilation[1]} - {padding[1]}; "
                f"let start = p.b_offset + (batch * {channels} + row / {kh * kw}) * {h * wide} + y * {wide} + x;")

    def step(h, wide):
        return (f"let dy = k1 * {stride[0]}; let dx = k2 * {stride[1]}; "
                f"let advance = k0 * {groups * channels * h * wide} + k1 * {stride[0] * wide} + dx;")
    b = _image_side(x, padding, _reach((oh, ow), stride, size, dilation, padding), row, step, stride[1] == 1)
    result = Result(y, {"y_offset": y.meta.offset}, "return p.y_offset + (batch * i32(p.rows) + row) * i32(p.cols);", "return col;")
    steps = (n, oh, ow) if n * oh * ow else (0, 1, 1)
    plan_product(plan, Product(groups, out // groups, channels * kh * kw, steps), a, b, result)


def _transposed_run(plan, x, w, b, y, **where):
    x, w = plan.contiguous(x), plan.contiguous(w)
    into(plan, y, lambda result: _plan_transposed(plan, x, w, b, result, **where))


class _Phase:
    """Along one dim: outputs first + j * stride (j < count); their taps tap + a * tap_step (a < taps) meet inputs j + c - a * e."""
    __slots__ = ("first", "count", "tap", "tap_step", "taps", "c", "e")

    def __init__(self, phase, n, kernel, stride, padding, dilation):
        self.first = (phase - padding) % stride
        self.count = max(0, -(-(n - self.first) // stride))
        taps = [k for k in range(kernel) if k * dilation % stride == phase]
        self.taps, self.tap = len(taps), taps[0] if taps else 0
        self.tap_step = taps[1] - taps[0] if len(taps) > 1 else 1
        self.c = (self.first + padding - self.tap * dilation) // stride
        self.e = self.tap_step * dilation // stride

    def before(self):
        return (self.taps - 1) * self.e - self.c

    def reach(self):
        return self.count + self.c


def _plan_transposed(plan, x, w, b, y, *, stride, padding, dilation, groups, size):
    """A product for each phase of the stride, since other outputs meet other taps."""
    rows, cols = ([_Phase(r, size[d], w.meta.shape[2 + d], stride[d], padding[d], dilation[d]) for r in range(stride[d])] for d in (0, 1))
    plan_products(plan, [_phase(x, w, b, y, i, j, stride, groups, plan) for i in rows for j in cols])


def _phase(x, w, b, y, i, j, stride, groups, plan):
    channels, out, kh, kw = w.meta.shape
    inner, count = channels // groups, i.count * j.count
    steps, (c, di, dj) = _walk(plan, inner, i.taps, j.taps) if i.taps * j.taps else ((0, 1, 1), ("k0", "k1", "k2"))
    a = Side(w, {"a_offset": w.meta.offset, "a_group": inner * out * kh * kw},
             f"return p.a_offset + batch * p.a_group + row * {kh * kw} + {i.tap * kw + j.tap};",
             f"return {c} * {out * kh * kw} + {di} * {i.tap_step * kw} + {dj} * {j.tap_step};")

    def row(h, wide):
        return (f"let at = row % {count}; let y = at / {j.count} + {i.c}; let x = at % {j.count} + "
                f"{j.c}; let start = p.b_offset + (row / {count} * {channels} + batch * {inner}) * {h * wide} + "
                f"y * {wide} + x;")

    def step(h, wide):
        return f"let dy = -{di} * {i.e}; let dx = -{dj} * {j.e}; let advance = {c} * {h * wide} - {di} * {i.e * wide} + dx;"
    side = _image_side(x, [p.before() for p in (i, j)], [p.reach() for p in (i, j)], row, step)
    result = image_result(y, b, (i.first, j.first), stride, (i.count, j.count))
    return Product(groups, out, x.meta.shape[0] * count, steps), a, side, result


def _where(stride, padding, dilation, groups):
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def _convolve_x(g, x, w, stride, padding, dilation, groups):
    return apply(TRANSPOSED, g, w, None, size=tuple(x.meta.shape[2:]), **_where(stride, padding, dilation, groups))


def _convolve_w(g, x, w, stride, padding, dilation, groups):
    return apply(WEIGHTS, g, x, size=tuple(w.meta.shape[2:]), **_where(stride, padding, dilation, groups))


def _transposed_x(g, x, w, stride, padding, dilation, groups):
    return apply(CONVOLVE, g, w, None, size=tuple(x.meta.shape[2:]), **_where(stride, padding, dilation, groups))


def _transposed_w(g, x, w, stride, padding, dilation, groups):
    return apply(WEIGHTS, x, g, size=tuple(w.meta.shape[2:]), **_where(stride, padding, dilation, groups))


def _weights_u(g, u, x, stride, padding, dilation, groups):
    return apply(CONVOLVE, x, g, None, size=tuple(u.meta.shape[2:]), **_where(stride, padding, dilation, groups))


def _weights_x(g, u, x, stride, padding, dilation, groups):
    return apply(TRANSPOSED, u, g, None, size=tuple(x.meta.shape[2:]), **_where(stride, padding, dilation, groups))


CONVOLVE = Op("convolution", _convolve_shape, _convolve_run, convolve_numpy,
              {"x": _convolve_x, "w": _convolve_w, "b": lambda g: g.sum((0, 2, 3))},
              doc="A convolution of images, with stride, padding, dilation and groups.",
              bench=[S(T(16, 64, 56, 56), T(64, 64, 3, 3), None, **_where((1, 1), (1, 1), (1, 1), 1), size=(56, 56))])
TRANSPOSED = Op("convolution_transposed", _transposed_shape, _transposed_run, _transposed_numpy,
                {"x": _transposed_x, "w": _transposed_w, "b": lambda g: g.sum((0, 2, 3))},
                doc="The derivative of a convolution for its images, which is a transposed convolution.")
WEIGHTS = Op("convolution_weights", _weights_shape, _weights_run, _weights_numpy, {"u": _weights_u, "x": _weights_x},
             doc="The derivative of a convolution for its weights.")
