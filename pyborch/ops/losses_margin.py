"""Losses that ask for a margin (torch.nn.functional): rankings, labels of 1 and -1, several labels, triplets."""
from __future__ import annotations

from .. import dtypes
from .losses import reduced
from .registry import FUNCTIONS, S, T, function

torch = FUNCTIONS["torch"]
SIGNS = T(4, values=(1.0, -1.0, 1.0, -1.0), grad=False)


@function(to="F torch", samples=[S(T(4), T(4), SIGNS, margin=0.2)])
def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target * (input1 - input2) + margin)."""
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, input2: {input2.size()}, "
                           f"target: {target.size()} ")
    return reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@function(to="F torch", samples=[S(T(4), SIGNS), S(T(4), SIGNS, margin=0.5), S(T(3), T(3, values=(1.0, 0.5, -1.0), grad=False), reduction="none")])
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target is 1, max(0, margin - input) where it is -1, and both where it is neither."""
    near, far = torch["where"](target != -1, input, 0.0), torch["where"](target != 1, (margin - input).clamp_min(0), 0.0)
    return reduced(near + far, reduction)


@function(to="F", samples=[S(T(4), SIGNS)])
def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input))."""
    return reduced((input * -target).exp().log1p(), reduction)


@function(to="F torch", samples=[S(T(4, 3), T(4, 3), SIGNS), S(T(4, 3), T(4, 3), SIGNS, margin=0.3)])
def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    dot = (input1 * input2).sum(-1)
    lengths = [(x * x).sum(-1) + 1e-12 for x in (input1, input2)]
    cos = dot / (lengths[0] * lengths[1]).sqrt()
    return reduced(torch["where"](target == 1, 1.0 - cos, 0.0) + torch["where"](target == -1, (cos - margin).clamp_min(0), 0.0), reduction)


def _check_triplet(margin, anchor, positive, negative):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = [t.dim() for t in (anchor, positive, negative)]
    if len(set(dims)) > 1:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
                           f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs")


@function(to="F torch", samples=[S(T(4, 3), T(4, 3), T(4, 3)), S(T(4, 3), T(4, 3), T(4, 3), margin=0.5, p=1), S(T(3), T(3), T(3), swap=True)])
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with p-norm distances."""
    _check_triplet(margin, anchor, positive, negative)
    return _triplet(lambda a, b: (a - b + eps).norm(p, -1), anchor, positive, negative, margin, swap, reduction)


def _triplet(distance, anchor, positive, negative, margin, swap, reduction):
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch["minimum"](far, distance(positive, negative))
    return reduced((near - far + margin).clamp_min(0), reduction)


@function(to="F", samples=[S(T(4, 3), T(4, 3), T(4, 3)), S(T(4, 3), T(4, 3), T(4, 3), margin=0.5, swap=True)])
def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """triplet_margin_loss() with a distance of one's own, pairwise_distance() by default."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    _check_triplet(margin, anchor, positive, negative)
    return _triplet(distance_function or FUNCTIONS["F"]["pairwise_distance"], anchor, positive, negative, margin, swap, reduction)


# several classes
def _check_classes(input):
    x = list(input.shape)
    if not (len(x) == 2 and x[1] or len(x) < 2 and 0 not in x):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {x}")
    return (1, input.numel()) if len(x) < 2 else tuple(x)


def _check_range(where, target, low, classes):
    """On the CPU device, where looking costs nothing."""
    if target.meta.device.type == "cpu" and target.numel() and bool(((target < low) | (target >= classes)).any()):
        raise RuntimeError(where)


@function(to="F", samples=[S(T(3, 4), T(3, dtype="int64", values=(0, 3, 1))), S(T(4), T(dtype="int64", values=(2,)), 2, 0.5),
                           S(T(3, 4), T(3, dtype="int64", values=(0, 3, 1)), weight=T(4, low=0.1, grad=False), reduction="none")])
def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over the other classes i of max(0, margin - input[target] + input[i])^p, times the target's weight; (N, C) or (C,), and (N,) or ()."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    rows, classes = _check_classes(input)
    if target.dim() > 1 or target.numel() != rows:
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected target size "
                           f"[{rows}], but got {list(target.shape)}. Input has shape {list(input.shape)}.")
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    if target.meta.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.meta.dtype.title}")
    _check_range("target out of range", target, 0, classes)
    x, wanted = input.reshape(rows, classes), target.reshape(rows, 1)
    short = (margin - x.gather(1, wanted) + x).clamp_min(0)
    other = torch["arange"](classes, device=x.meta.device) != wanted
    loss = torch["where"](other, short if p == 1 else short * short, 0.0)
    if weight is not None:
        loss = loss * weight.index_select(0, target.reshape(-1)).unsqueeze(1)
    loss = loss.sum(1) / classes
    return reduced(loss if target.dim() else loss.reshape(()), reduction)


@function(to="F", samples=[S(T(2, 4), T(2, 4, dtype="int64", values=(3, 0, -1, 1, 2, -1, 0, 0))), S(T(4), T(4, dtype="int64", values=(3, 1, 2, 0)), reduction="sum"),
                           S(T(2, 3), T(2, 3, dtype="int64", values=(1, -1, 0, -1, 0, 0)), reduction="none")])
def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Hinge losses of each target class beside each class that is none: (N, C) or (C,), targets (int64) up to the first -1 of a row."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    rows, classes = _check_classes(input)
    if target.numel() != input.numel() or target.dim() != input.dim() and input.dim() == 2:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    if target.meta.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.meta.dtype.title}")
    _check_range("argument #2 'target' is out of range", target, -1, classes)
    x, t = input.reshape(rows, classes), target.reshape(rows, classes)
    counts = (t < 0).to(x.dtype).cumsum(1) == 0
    picked = x.gather(1, t.clamp_min(0))
    is_target = ((t.unsqueeze(2) == torch["arange"](classes, device=x.meta.device)) & counts.unsqueeze(2)).any(1)
    short = (1.0 - picked.unsqueeze(2) + x.unsqueeze(1)).clamp_min(0)
    loss = torch["where"](counts.unsqueeze(2) & ~is_target.unsqueeze(1), short, 0.0).sum((1, 2)) / classes
    return reduced(loss if input.dim() == 2 else loss.reshape(()), reduction)


@function(to="F", samples=[S(T(3, 4), T(3, 4, low=0.0, grad=False)), S(T(3, 4), T(3, 4, low=0.0), T(4, low=0.1, grad=False), reduction="none")])
def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes of the binary cross-entropy of logits."""
    log_sigmoid = FUNCTIONS["F"]["logsigmoid"]
    loss = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    loss = loss if weight is None else loss * weight
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not valid")
    return reduced(loss.sum(-1) / input.shape[-1], reduction)
