"""F.unfold and F.fold: sliding blocks of images as columns, and their sums back; each is the other's gradient."""
from __future__ import annotations

from .. import kernels
from .. import shape as shapes
from ..autograd import apply
from .matmul import upcast
from .registry import Op, S, T, function


# ``window`` is (kernel, stride, padding, dilation); ``image`` and ``blocks`` are (height, width)
def _unfold_shape(x, *, window, image, blocks):
    (kh, kw), *_ = window
    return (x.shape[0], x.shape[1] * kh * kw, blocks[0] * blocks[1]), x.dtype


def _fold_shape(x, *, window, image, blocks):
    (kh, kw), *_ = window
    return (x.shape[0], x.shape[1] // (kh * kw), *image), x.dtype


def _slices(window, image, blocks):
    """Per tap its place in the padded image, as a pair of slices."""
    kernel, stride, _, dilation = window
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            yield tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in zip((i, j), dilation, stride, blocks))


def _unfold_numpy(np, x, *, window, image, blocks):
    (ph, pw) = window[2]
    x = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    columns = np.stack([x[:, :, rows, cols] for rows, cols in _slices(window, image, blocks)], 2)
    return columns.reshape(x.shape[0], columns.shape[1] * columns.shape[2], blocks[0] * blocks[1])


def _fold_numpy(np, x, *, window, image, blocks):
    (x,), (kernel, _, (ph, pw), _) = upcast(np, x), window
    taps = kernel[0] * kernel[1]
    x = x.reshape(x.shape[0], x.shape[1] // taps, taps, *blocks)
    y = np.zeros((*x.shape[:2], image[0] + 2 * ph, image[1] + 2 * pw), x.dtype)
    for k, (rows, cols) in enumerate(_slices(window, image, blocks)):
        y[:, :, rows, cols] += x[:, :, k]
    return y[:, :, ph:ph + image[0], pw:pw + image[1]]


def _plan(fold):
    def run(plan, x, y, *, window, image, blocks):
        x = plan.contiguous(x)
        values = [n for pair in (image, window[0], blocks, window[1], window[2], window[3]) for n in pair]
        names = ("H", "W", "KH", "KW", "OH", "OW", "SH", "SW", "PH", "PW", "DH", "DW")
        text = "\n".join([f"alias ACC = {x.meta.dtype.compute};", *(f"const {n}: i32 = {v};" for n, v in zip(names, values))])
        kernel = kernels.from_file("unfold", {"FOLD": fold}, {"T": x.meta.dtype.wgsl}, text)
        plan.dispatch(kernel, [x, y], [y.meta.numel, x.meta.offset], -(-y.meta.numel // 64))
    return run


def _unfold_gradient(g, window, image, blocks):
    return apply(FOLD, g, window=window, image=image, blocks=blocks)


def _fold_gradient(g, window, image, blocks):
    return apply(UNFOLD, g, window=window, image=image, blocks=blocks)


UNFOLD = Op("unfold_images", _unfold_shape, _plan(False), _unfold_numpy, {"x": _unfold_gradient}, doc="Windows of images as columns.")
FOLD = Op("fold_images", _fold_shape, _plan(True), _fold_numpy, {"x": _fold_gradient}, doc="Columns added up as windows of images.")


def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def _blocks(image, kernel, stride, padding, dilation):
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(image, kernel, stride, padding, dilation))


def _check(kernel, stride, dilation):
    for value, name in ((kernel, "kernel size"), (stride, "stride"), (dilation, "dilation")):
        if min(value) <= 0:
            words = name.split()[0]
            raise RuntimeError(f"{name} should be greater than zero, but got {words}_height: {value[0]} {words}_width: {value[1]}")


@function(to="F", samples=[S(T(2, 3, 5, 6), 2), S(T(2, 3, 5, 6), (3, 2), (1, 2), (1, 0), 2), S(T(3, 5, 6), 3, 1, 1), S(T(0, 3, 5, 6), 2),
                           S(T(2, 5, 6, 3, view=lambda t: t.permute(0, 3, 1, 2)), 2)])
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Sliding blocks as columns: (N, C, H, W) -> (N, C * kh * kw, blocks)."""
    x = input.meta.shape
    kernel, dilation, padding, stride = _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    _check(kernel, stride, dilation)
    if len(x) not in (3, 4) or 0 in x[-3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
                           f"but got: "
                           f"{list(x)}")
    blocks = _blocks(x[-2:], kernel, stride, padding, dilation)
    if min(blocks) < 1:
        raise RuntimeError(f"Given input with spatial size ({x[-2]}, {x[-1]}), kernel_size=({kernel[0]}, {kernel[1]}), "
                           f"dilation=({dilation[0]}, "
                           f"{dilation[1]}), padding=({padding[0]}, {padding[1]}), calculated shape of the array of sliding blocks as "
                           f"({blocks[0]}, {blocks[1]}), but its components must be at least one.")
    batched = input if len(x) == 4 else input.unsqueeze(0)
    y = apply(UNFOLD, batched, window=(kernel, stride, padding, dilation), image=tuple(x[-2:]), blocks=blocks)
    return y if len(x) == 4 else y.squeeze(0)


@function(to="F", samples=[S(T(2, 12, 20), (5, 6), 2), S(T(2, 12, 9), (4, 4), 2), S(T(2, 18, 6), (5, 6), (3, 2), (1, 2), (1, 0), 2),
                           S(T(12, 9), (4, 4), 2),
                           S(T(0, 12, 9), (4, 4), 2)])
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The sum of columns at their places: (N, C * kh * kw, blocks) -> (N, C, *output_size)."""
    x, values = input.meta.shape, [_pair(v) for v in (output_size, kernel_size, dilation, padding, stride)]
    image, kernel, dilation, padding, stride = values
    _check(kernel, stride, dilation)
    if len(x) not in (2, 3) or 0 in x[-2:]:
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
                           f"input, but got: "
                           f"{list(x)}")
    if x[-2] % (kernel[0] * kernel[1]):
        raise RuntimeError(f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                           f"input.size(1)={x[-2]} and "
                           f"kernel_size=({kernel[0]}, {kernel[1]}).")
    blocks = _blocks(image, kernel, stride, padding, dilation)
    if shapes.numel(blocks) != x[-1]:
        given = ", ".join(f"{n}=({v[0]}, {v[1]})" for n, v in zip(("output_size", "kernel_size", "dilation", "padding", "stride"), values))
        raise RuntimeError(f"Given {given}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
                           f"{blocks[0]} * "
                           f"{blocks[1]} = {blocks[0] * blocks[1]}, but got input.size(2)={x[-1]}.")
    batched = input if len(x) == 3 else input.unsqueeze(0)
    y = apply(FOLD, batched, window=(kernel, stride, padding, dilation), image=image, blocks=blocks)
    return y if len(x) == 3 else y.squeeze(0)
