"""What the functions of linear algebra share: checks in PyTorch's words, out=, and results that bring their gradient along."""
from __future__ import annotations

from ... import shape as shapes
from ...autograd import state
from ..pointwise_plan import copy
from ..registry import FUNCTIONS, Op


def check_matrix(A, where, name="A"):
    """RuntimeError unless ``A`` has two dims or more."""
    if len(A.meta.shape) < 2:
        raise RuntimeError(f"{where}: The input tensor {name} must have at least 2 dimensions.")


def check_square(A, where):
    """RuntimeError unless ``A`` is a matrix, or matrices, of as many rows as columns."""
    check_matrix(A, where)
    if A.meta.shape[-1] != A.meta.shape[-2]:
        raise RuntimeError(f"{where}: A must be batches of square matrices, but they are {A.meta.shape[-2]} by {A.meta.shape[-1]} matrices")


def check_float(A, where, half=True):
    """RuntimeError unless ``A`` is of floats; float16 counts where ``half``."""
    dtype = A.meta.dtype
    if dtype.kind not in "fc":
        raise RuntimeError(f"{where}: Expected a floating point or complex tensor as input. Got {dtype.title}")
    if dtype.name == "float16" and not half:
        raise RuntimeError(f"{where}: Low precision dtypes not supported. Got Half")


def check_kernel(A, name):
    """NotImplementedError for dtypes that the decompositions are not made for."""
    if A.meta.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"\"{name}\" not implemented for '{A.meta.dtype.title}'")


def batch_words(place, infos):
    """The words by which an error names one of several matrices."""
    return f"(Batch element {place}): " if infos.ndim else ""


def first_failure(np, infos):
    """(place, info) of the first matrix whose info is not zero, or None."""
    flat = infos.reshape(-1)
    return (int(flat.nonzero()[0][0]), int(flat[flat != 0][0])) if flat.any() else None


def expand_batches(A, B):
    """Both with the batch dims that they broadcast to (views)."""
    batch = shapes.broadcast(A.meta.shape[:-2], B.meta.shape[:-2])
    return [x if x.meta.shape[:-2] == batch else x.expand(batch + x.meta.shape[-2:]) for x in (A, B)]


def eye_like(A, n=None, m=None):
    """Identity matrices in the batch shape, dtype and device of ``A`` (a view of one); as large as its columns, unless told."""
    n = A.meta.shape[-1] if n is None else n
    m = n if m is None else m
    return FUNCTIONS["torch"]["eye"](n, m, dtype=A.meta.dtype, device=A.meta.device).expand(A.meta.shape[:-2] + (n, m))


def written(result, out):
    """``result``, or ``out`` with its values (and its shape, where that differs)."""
    if out is None:
        return result
    if isinstance(out, (tuple, list)):
        return type(result)(*[written(r, o) for r, o in zip(result, out)]) if isinstance(result, tuple) else written(result, out[0])
    if state.grad and (result.requires_grad or out.requires_grad):
        raise RuntimeError("functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.")
    if out.meta.shape != result.meta.shape:
        made = result.to(out.meta.dtype) if out.meta.dtype is not result.meta.dtype else result.clone()
        out.storage, out.meta = made.storage, made.meta
        return out
    return out.copy_(result)


def specs(*metas):
    """What a shape rule returns for outputs that are like these inputs."""
    return [(m.shape, m.dtype) for m in metas]


def _hand_on(plan, *operands, **params):
    count = len(plan.outputs)
    for source, target in zip(operands[-2 * count:-count], operands[-count:]):
        copy(plan, source, target)


def derived(name, shape, grad, count=1):
    """An Op for results that other ops have computed of its first inputs: it hands on its last ``count`` inputs, and knows the gradient of
    the whole."""
    op = Op(name, shape, _hand_on, lambda np, *inputs, **params: inputs[-count:], grad)
    op.has_card = False
    return op
