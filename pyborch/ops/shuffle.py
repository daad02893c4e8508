"""Channels into pixels and back; resizing by nearest neighbour; random leaky ReLU; local response normalisation."""
from __future__ import annotations

import math

from .registry import FUNCTIONS, S, T, function


@function(to="torch F", samples=[S(T(1, 8, 2, 3), 2)])
def pixel_shuffle(input, upscale_factor):
    """(..., C * r^2, H, W) to (..., C, H * r, W * r)."""
    r, (c, h, w) = upscale_factor, input.shape[-3:]
    if c % (r * r):
        raise RuntimeError(f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)={c} "
                           f"is not divisible by {r * r}")
    lead = tuple(input.shape[:-3])
    k = len(lead)
    x = input.reshape((*lead, c // (r * r), r, r, h, w)).permute((*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return x.reshape((*lead, c // (r * r), h * r, w * r))


@function(to="torch F", samples=[S(T(1, 2, 4, 6), 2)])
def pixel_unshuffle(input, downscale_factor):
    """(..., C, H * r, W * r) to (..., C * r^2, H, W)."""
    r, (c, h, w) = downscale_factor, input.shape[-3:]
    if h % r or w % r:
        raise RuntimeError(f"pixel_unshuffle expects height to be divisible by downscale_factor, but input.size(-2)={h} is not divisible by {r}")
    lead = tuple(input.shape[:-3])
    k = len(lead)
    x = input.reshape((*lead, c, h // r, r, w // r, r)).permute((*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return x.reshape((*lead, c * r * r, h // r, w // r))


@function(to="torch F", samples=[S(T(1, 6, 2, 2), 3), S(T(0, 4, 3), 2)])
def channel_shuffle(input, groups):
    """Channels of ``groups`` groups interleaved."""
    if input.dim() < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    n, c, *rest = input.shape
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    return input.reshape((n, groups, c // groups, *rest)).transpose(1, 2).reshape(tuple(input.shape))


@function(to="torch F", samples=[S(T(1, 6, 2, 2, grad=False), 3)])
def native_channel_shuffle(input, groups):
    """channel_shuffle() under the name of PyTorch's own kernel."""
    return channel_shuffle(input, groups)


@function(to="F", samples=[S(T(1, 2, 3, 4), scale_factor=2), S(T(1, 2, 5), size=3), S(T(1, 1, 4, 5), size=(2, 7)), S(T(1, 1, 3, 3), scale_factor=2, mode="bilinear"),
                           S(T(1, 1, 3, 3), size=(2, 2), mode="bilinear", align_corners=True), S(T(1, 2, 4), size=7, mode="linear"),
                           S(T(1, 1, 5), size=3, mode="nearest-exact")])
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """(N, C, *) resized to ``size`` or by ``scale_factor``: nearest, nearest-exact, linear (1-d) or bilinear (2-d)."""
    rank = input.dim() - 2
    kinds = {1: ("nearest", "nearest-exact", "linear"), 2: ("nearest", "nearest-exact", "bilinear")}
    if mode not in kinds.get(rank, ()) or antialias:
        raise NotImplementedError(f"interpolate: mode {mode!r} of a {input.dim()}-d input is not supported; there are {kinds.get(rank, ())}")
    if (size is None) == (scale_factor is None):
        raise ValueError("either size or scale_factor should be defined" if size is None else "only one of size or scale_factor should be defined")
    scales = None if scale_factor is None else tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * rank
    sizes = [math.floor(n * s) for n, s in zip(input.shape[2:], scales)] if scales else list(size if isinstance(size, (tuple, list)) else (size,) * rank)
    for k, wanted in enumerate(sizes):
        step = 1 / scales[k] if scales and not recompute_scale_factor else input.shape[2 + k] / wanted
        input = _resized(input, 2 + k, wanted, step, mode, bool(align_corners))
    return input


def _resized(x, dim, wanted, step, mode, corners):
    tensor, n = FUNCTIONS["torch"]["tensor"], x.shape[dim]
    pick = lambda places: x.index_select(dim, tensor(places, device=x.meta.device))  # noqa: E731
    if mode.startswith("nearest"):
        half = 0.5 if mode == "nearest-exact" else 0.0
        return pick([min(int((i + half) * step), n - 1) for i in range(wanted)])
    at = [i * (n - 1) / max(wanted - 1, 1) if corners else max((i + 0.5) * step - 0.5, 0.0) for i in range(wanted)]
    low = [min(int(a), n - 1) for a in at]
    weight = tensor([a - b for a, b in zip(at, low)], dtype=x.dtype, device=x.meta.device).reshape([wanted if d == dim else 1 for d in range(x.dim())])
    return pick(low) * (1 - weight) + pick([min(b + 1, n - 1) for b in low]) * weight


@function(to="F", samples=[S(T(1, 5, 3), 3), S(T(1, 4, 2, 2), 2, 0.1, 0.5, 2.0)])
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + alpha * mean of squares over ``size`` neighbouring channels)^beta."""
    squares = FUNCTIONS["F"]["pad"](input.square(), (0, 0) * (input.dim() - 2) + (size // 2, (size - 1) // 2))
    total = None
    for i in range(size):
        part = squares.narrow(1, i, input.shape[1])
        total = part if total is None else total + part
    return input / (total / size * alpha + k).pow(beta)
