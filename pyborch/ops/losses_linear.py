"""linear_cross_entropy: the cross-entropy of a linear layer's results, whole or by parts of the batch."""
from __future__ import annotations

import math
import warnings

from .. import dtypes
from ..autograd import Function, enable_grad, is_grad_enabled
from ..autograd import grad as gradients
from .losses import reduced
from .registry import FUNCTIONS, S, T, function

METHODS = "aspect_ratio"


class LinearCrossEntropyOptions:
    """How linear_cross_entropy() cuts the batch: rows of ``batch_chunk_size`` at a time, or a number chosen from the sizes (``chunking_method``
    "auto" or "aspect_ratio:K"), so that all logits never exist at once; gradients compute them again. ``allow_retain_graph``, ``acc_policy`` and
    ``acc_dtype`` are accepted as in PyTorch: sums here are always in float32 (float64 for float64), and a graph may always be retained."""

    def __init__(self, allow_retain_graph=False, batch_chunk_size=None, chunking_method="auto", acc_policy="auto", acc_dtype=None):
        if acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {acc_policy!r}")
        if chunking_method not in (None, "auto"):
            name, _, factor = chunking_method.partition(":")
            if name != METHODS or ":" in chunking_method and not (factor.isdigit() and int(factor) > 0):
                raise ValueError(f"invalid chunking_method: {chunking_method!r}")
        self.allow_retain_graph, self.batch_chunk_size, self.chunking_method = allow_retain_graph, batch_chunk_size, chunking_method
        self.acc_policy, self.acc_dtype = acc_policy, acc_dtype

    def rows(self, batch, features, classes):
        """Rows of a part."""
        if self.batch_chunk_size is not None:
            return max(1, min(self.batch_chunk_size, batch))
        method = self.chunking_method or "auto"
        factor = int(method.partition(":")[2] or 2)
        parts = max(1, -(-classes // max(features * factor, 1)))
        return max(1, -(-batch // parts))

    def __repr__(self):
        return (f"LinearCrossEntropyOptions(allow_retain_graph={self.allow_retain_graph}, batch_chunk_size={self.batch_chunk_size}, "
                f"chunking_method={self.chunking_method!r}, acc_policy={self.acc_policy!r}, acc_dtype={self.acc_dtype})")


def _losses(x, w, b, target, weight, ignore_index):
    logits = FUNCTIONS["F"]["linear"](x, w, b)
    return FUNCTIONS["F"]["cross_entropy"](logits, target, weight, ignore_index=ignore_index, reduction="none")


class _ByParts(Function):
    """The losses of a batch (N,), whose logits are computed by parts and once more for the gradients."""

    @staticmethod
    def forward(ctx, x, w, b, target, weight, ignore_index, rows):
        ctx.save_for_backward(x, w, b, target, weight)
        ctx.how = ignore_index, rows
        parts = [_losses(x[i:i + rows], w, b, target[i:i + rows], weight, ignore_index) for i in range(0, x.shape[0], rows)]
        return FUNCTIONS["torch"]["cat"](parts)

    @staticmethod
    def backward(ctx, g):
        x, w, b, target, weight = ctx.saved_tensors
        ignore_index, rows = ctx.how
        total, gx = None, []
        for i in range(0, x.shape[0], rows):
            with enable_grad():
                inputs = [t.detach().requires_grad_() for t in (x[i:i + rows], w, b) if t is not None]
                loss = _losses(*inputs, *[None] * (3 - len(inputs)), target[i:i + rows], weight, ignore_index)
            first, *rest = gradients(loss, inputs, g[i:i + rows])
            gx.append(first)
            total = rest if total is None else [a + c for a, c in zip(total, rest)]
        return FUNCTIONS["torch"]["cat"](gx), total[0], None if b is None else total[1], None, None, None, None


def _check(input, linear_weight, linear_bias):
    if not 1 <= input.dim() <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), "
                           f"got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively")
    if linear_bias is not None and tuple(linear_bias.shape) != tuple(linear_weight.shape[:-1]):
        raise RuntimeError(f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}")
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, (N, {input.shape[-1]}), "
                           f"got unbatched input with shape {tuple(input.shape)}")


def _by_parts(options, input, w, b, target, weight, reduction, ignore_index):
    x, t = (input, target) if input.dim() == 2 else (input.unsqueeze(0), target.unsqueeze(0))
    rows = options.rows(x.shape[0], x.shape[1], w.shape[0])
    if x.shape[0] and is_grad_enabled():
        loss = _ByParts.apply(x, w, b, t, weight, ignore_index, rows)
    else:
        loss = _losses(x, w, b, t, weight, ignore_index)
    if reduction == "mean":
        counts = (t != ignore_index).to(loss.dtype)
        scale = counts if weight is None else FUNCTIONS["torch"]["where"](t == ignore_index, 0.0, weight.index_select(0, t.clamp_min(0)))
        return loss.sum() / scale.sum()
    return reduced(loss if input.dim() == 2 else loss.squeeze(0), reduction)


@function(to="F", samples=[S(T(4, 3), T(5, 3), T(4, dtype="int64", values=(0, 4, 1, 1))), S(T(3), T(5, 3), T(dtype="int64", values=(2,)), linear_bias=T(5)),
                           S(T(2, 3), T(4, 2, 3), T(2, 2, dtype="int64", values=(0, 3, 1, 1)), label_smoothing=0.1, reduction="sum")])
def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None, label_smoothing=0.0, options=None):
    """cross_entropy(linear(input, linear_weight, linear_bias), target): input (N, in) or (in), linear_weight (C, in) or (C, d1, ..., in).

    ``options`` (LinearCrossEntropyOptions) computes the logits by parts of the batch, for class indices and losses of one dim without smoothing.
    """
    _check(input, linear_weight, linear_bias)
    logits_shape = (*input.shape[:-1], *linear_weight.shape[:-1])
    if tuple(target.shape) == logits_shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore_index = -100 if ignore_index is None else ignore_index
    whole = linear_weight.dim() > 2 or reduction not in ("mean", "sum", "none") or label_smoothing != 0.0 or target.dtype is not dtypes.int64
    if options is not None and not whole:
        return _by_parts(options, input, linear_weight, linear_bias, target, weight, reduction, ignore_index)
    if options is not None:
        warnings.warn("linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, label_smoothing == 0, target.dtype == "
                      f"int64, out_features == (). Got reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
                      f"out_features={tuple(linear_weight.shape[1:-1])}.", stacklevel=2)
    flat = (math.prod(linear_weight.shape[:-1]), input.shape[-1])
    bias = None if linear_bias is None else linear_bias.reshape(flat[0])
    logits = FUNCTIONS["F"]["linear"](input, linear_weight.reshape(flat), bias).reshape(logits_shape)
    return FUNCTIONS["F"]["cross_entropy"](logits, target, weight, reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing)
