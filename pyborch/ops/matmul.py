"""Matrix products: matmul and its relatives, linear, addmm and friends. See einsum.py for contractions by labels."""
from __future__ import annotations

from .. import devices
from .. import shape as shapes
from ..autograd import apply, autocasts
from ..kernels import Operand
from . import pointwise_plan
from .gemm import Product, Result, Side, plan_product
from .registry import FUNCTIONS, Op, S, T, function
from .variants import by_matrices

CPP_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half", "int64": "long int", "int32": "int", "int16": "short",
             "int8": "signed char", "uint8": "unsigned char", "uint32": "unsigned int", "bool": "bool"}


def upcast(np, *arrays):
    """float16 arrays as float32, in which the GPU accumulates too."""
    return [x.astype(np.float32) if x is not None and x.dtype == np.float16 else x for x in arrays]


# the two primitives
def _matmul_shape(a, b, bias=None):
    batch = shapes.broadcast(a.shape[:-2], b.shape[:-2])
    return (*batch, a.shape[-2], b.shape[-1]), a.dtype


def _matmul_numpy(np, a, b, bias):
    a, b, bias = upcast(np, a, b, bias)
    result = np.matmul(a, b)
    return result if bias is None else result + bias


def _matmul_run(plan, a, b, bias, y):
    run_matmul(plan, a, b, bias, y, b.meta.shape[-1], b.meta.strides[:-2], b.meta.strides[-1], b.meta.strides[-2])


def _a_gradient(g, b):
    return apply(MATMUL, g, b.mT, None)


def _b_gradient(g, a, b):
    """a.T @ g in the shape of ``b``; batches of ``a`` become rows where ``b`` has none."""
    if len(b.meta.shape) == 2 and len(a.meta.shape) > 2:
        a, g = a.reshape(-1, a.meta.shape[-1]), g.reshape(-1, g.meta.shape[-1])
    return apply(MATMUL, a.mT, g, None)


MATMUL = Op("matmul", _matmul_shape, _matmul_run, _matmul_numpy,
            {"a": _a_gradient, "b": _b_gradient, "bias": lambda g: g},
            doc="Matrix products of the last two dims, with an optional bias that is added.",
            bench=[*(S(T(n, n, dtype=d), T(n, n, dtype=d), None) for n, d in ((1024, "float32"), (1024, "float16"))),
                   S(T(1, 1024), T(1024, 1024, view=lambda t: t.transpose(0, 1)), None)])


def _linear_shape(x, w, b=None):
    return (*x.shape[:-1], w.shape[0]), x.dtype


def _linear_numpy(np, x, w, b):
    x, w, b = upcast(np, x, w, b)
    result = np.matmul(x, w.T)
    return result if b is None else result + b


def _linear_run(plan, x, w, b, y):
    run_matmul(plan, x, w, b, y, w.meta.shape[0], (), w.meta.strides[0], w.meta.strides[1])


def _rows(x):
    return x.reshape(-1, x.meta.shape[-1])


LINEAR = Op("linear", _linear_shape, _linear_run, _linear_numpy,
            {"x": lambda g, w: apply(MATMUL, g, w, None), "w": lambda g, x: apply(MATMUL, _rows(g).mT, _rows(x), None), "b": lambda g: g},
            doc="Rows times transposed weights, with an optional bias.",
            bench=[S(T(4096, 768, dtype=d), T(768, 768, dtype=d), T(768, dtype=d)) for d in ("float32", "float16")])


def run_matmul(plan, a, b, bias, y, cols, b_batch_strides, b_col, b_step):
    """Plan y = a @ b (+ bias, broadcast); b is described by its strides."""
    if not y.meta.contiguous:
        result = plan.temp(y.meta.shape, y.meta.dtype)
        run_matmul(plan, a, b, bias, result, cols, b_batch_strides, b_col, b_step)
        pointwise_plan.copy(plan, result, y)
        return
    shape, m = y.meta.shape, a.meta
    batch, rows, depth = shape[:-2], shape[-2], m.shape[-1]
    a_strides = shapes.broadcast_strides(m.shape[:-2], m.strides[:-2], batch)
    b_strides = shapes.broadcast_strides(b.meta.shape[:-2], b_batch_strides, batch)
    c_all = shapes.broadcast_strides(bias.meta.shape, bias.meta.strides, shape) if bias is not None else (0,) * len(shape)
    row = (m.strides[-2], c_all[-2])
    if not any(b_strides):  # one matrix for all batches: they are more rows, where the strides allow
        sizes, (sa, sc) = shapes.collapse((*batch, rows), [(*a_strides, row[0]), (*c_all[:-2], row[1])])
        if len(sizes) <= 1:
            batch, a_strides, b_strides, c_all = (), (), (), (0, c_all[-1])
            rows, row = (sizes[0], (sa[0], sc[0])) if sizes else (1, (0, 0))
    sizes, strides = shapes.collapse(batch, [a_strides, b_strides, c_all[:-2]])
    size = Product(shapes.numel(sizes), rows, cols, (depth, 1, 1))
    sides = (a, "a", sizes, strides[0], row[0], m.strides[-1]), (b, "b", sizes, strides[1], b_col, b_step)
    if m.dtype.wgsl == "f16" and by_matrices(plan.device, size):
        left, right = _by_eights(plan, *sides[0], rows, depth), _by_eights(plan, *sides[1], cols, depth)
    else:
        left, right = (matrix_side(*side) for side in sides)
    swapped = cols < 16 and cols < rows
    result = _result(y, bias, sizes, strides[2], row[1], c_all[-1], swapped)
    if swapped:  # few columns: the transposed product keeps threads busy
        left, right, size = _renamed(right, "a"), _renamed(left, "b"), Product(size.batches, cols, rows, size.steps)
    plan_product(plan, size, left, right, result)


def _batch_text(name, sizes, address):
    """WGSL that adds to ``at`` the offset of i32 ``batch`` over ``sizes``, whose strides are fields named after ``name``."""
    lines = [f"var at = {address}; var rest = batch;"]
    for d in range(len(sizes) - 1, 0, -1):
        lines.append(f"at += rest % p.{name}_n{d} * p.{name}_s{d}; rest = rest / p.{name}_n{d};")
    return " ".join(lines) + (f" at += rest * p.{name}_s0;" if sizes else "")


def _batch_fields(name, sizes, strides):
    found = {f"{name}_n{d}": n for d, n in enumerate(sizes) if d}
    found.update({f"{name}_s{d}": s for d, s in enumerate(strides)})
    return found


def matrix_side(operand, name, sizes, strides, row, step):
    fields = {f"{name}_offset": operand.meta.offset, f"{name}_row": row, f"{name}_step": step}
    fields.update(_batch_fields(name, sizes, strides))
    text = _batch_text(name, sizes, f"p.{name}_offset + row * p.{name}_row") + " return at;"
    others = [operand.meta.offset, *(s for n, s in zip(sizes, strides) if n > 1), row if step == 1 else step]
    adjacent, dtype = 1 in (row, step), operand.meta.dtype
    return Side(operand, fields, text, f"return k0 * p.{name}_step;", fast=step == 1, fours=adjacent and not any(n % 4 for n in others),
                eights=adjacent and dtype.wgsl == "f16" and not any(n % 8 for n in others))


def _by_eights(plan, operand, name, sizes, strides, row, step, rows, depth):
    """A side whose elements can be read by eights: a copy with longer rows, where they cannot as they lie."""
    side = matrix_side(operand, name, sizes, strides, row, step)
    if side.eights:
        return side
    dtype, shape = operand.meta.dtype, (*sizes, rows, depth)
    whole = plan.temp((*sizes, rows, -(-depth // 8) * 8), dtype)
    source, target = (Operand(devices.meta(shape, dtype, plan.device, s, offset), slot) for s, offset, slot in (
        ((*strides, row, step), operand.meta.offset, operand.slot), (whole.meta.strides, 0, whole.slot)))
    pointwise_plan.copy(plan, source, target)
    return matrix_side(whole, name, sizes, whole.meta.strides[:-2], whole.meta.strides[-2], 1)


def _renamed(side, name):
    """The same operand in the other role."""
    old = "b" if name == "a" else "a"
    fields = {name + k[1:]: v for k, v in side.fields.items()}
    row, step = (text.replace(f"p.{old}_", f"p.{name}_") for text in (side.row, side.step))
    return Side(side.operand, fields, row, step, fast=side.fast, fours=side.fours, eights=side.eights)


def _result(y, bias, sizes, strides, row, col, swapped):
    fields = {"y_offset": y.meta.offset}
    places = ["return p.y_offset + (batch * i32(p.rows) + row) * i32(p.cols);", "return col;"]
    if swapped:
        places = ["return p.y_offset + batch * i32(p.rows) * i32(p.cols) + row;", "return col * i32(p.rows);"]
    if bias is None:
        return Result(y, fields, *places)
    row, col = (col, row) if swapped else (row, col)
    fields.update({"c_offset": bias.meta.offset, "c_row": row, "c_col": col, **_batch_fields("c", sizes, strides)})
    return Result(y, fields, *places, bias, _batch_text("c", sizes, "p.c_offset + row * p.c_row") + " return at;", "return col * p.c_col;")


# checks with PyTorch's words
def _same_dtype(a, b, batched=False):
    if a.meta.dtype is not b.meta.dtype and not autocasts(a, b):
        if batched:
            raise RuntimeError(f"expected scalar type {a.meta.dtype.title} but found {b.meta.dtype.title}")
        names = [CPP_NAMES[x.meta.dtype.name] for x in (a, b)]
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}")
    if a.meta.dtype.name == "bool":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")


def _multiplies(rows, inner, shape):
    if inner != shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {shape[0]}x{shape[1]})")


def _batches_match(a, b):
    if a[-1] != b[-2]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{b[0]}, {a[-1]}] but got: [{b[0]}, {b[-2]}].")


def _expands(shape, target):
    """Refuse an added tensor that does not broadcast to ``target``."""
    if len(shape) > len(target):
        raise RuntimeError(f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(target)}): the number of sizes provided ({len(target)}) "
                           f"must be greater or equal to the number of dimensions in the tensor ({len(shape)})")
    for i in range(-1, -len(shape) - 1, -1):
        if shape[i] != target[i] and shape[i] != 1:
            raise RuntimeError(f"The expanded size of the tensor ({target[i]}) must match the existing size ({shape[i]}) at non-singleton "
                               f"dimension {len(target) + i}.  Target sizes: {list(target)}.  Tensor sizes: {list(shape)}")


def _tall(*shape, **kw):
    return T(*shape, view=lambda t: t.transpose(-2, -1), **kw)


WHOLE = {"dtype": "int64", "low": -9, "high": 9}
MATRICES = [S(T(2, 3), T(3, 4)), S(T(2, 64), _tall(5, 64)), S(T(17, 33), T(33, 19)), S(_tall(5, 6), T(5, 7)), S(T(6, 5), _tall(7, 5)), S(T(1, 70), T(70, 1)),
            S(T(66, 3), T(3, 70)), S(T(2, 0), T(0, 3)), S(T(0, 2), T(2, 3)), S(T(3, 2, **WHOLE), T(2, 4, **WHOLE))]
LONG_SUM = S(T(3, 1500), T(1500, 5), tol=1e-4)


@function(to="torch Tensor", samples=[
    *MATRICES, LONG_SUM, S(T(3), T(3)), S(T(3), T(3, 4)), S(T(4, 3), T(3)), S(T(2, 4, 3), T(3)), S(T(3), T(2, 3, 4)),
    S(T(2, 4, 3), T(3, 5)),
    S(T(4, 3), T(2, 3, 5)), S(T(2, 4, 3), T(2, 3, 5)), S(T(2, 1, 4, 3), T(5, 3, 2)),
    S(T(2, 3, 4, 5), T(2, 3, 5, 2)), S(T(0, 4, 3), T(3, 2)),
    S(T(4, 2, 3, view=lambda t: t.transpose(0, 1)), T(3, 5)), S(T(6, 5, view=lambda t: t[1::2, 1:4]), T(3, 3))])
def matmul(input, other, *, out=None):
    """The matrix product: dot of vectors, matrix by vector, matrices, or batches of them with broadcasting (torch.matmul).

    (*, n, m) @ (*, m, p) -> (*, n, p); a 1-d side loses its dim. RuntimeError where sizes or dtypes differ.
    """
    a, b = input.meta.shape, other.meta.shape
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    if len(a) == 1 and len(b) == 1:
        return dot(input, other, out=out)
    if len(b) == 1:
        if a[-1] != b[0]:
            rows = shapes.numel(a[:-1])
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{a[-1]}), vec ({b[0]})")
        _same_dtype(input, other)
        return _written(apply(MATMUL, input, other.unsqueeze(-1), None).squeeze(-1), out)
    if len(b) == 2:
        _multiplies(shapes.numel(a[:-1]), a[-1], b)
    elif len(a) <= 2:
        _batches_match((shapes.numel(b[:-2]), *a), (shapes.numel(b[:-2]), *b[-2:]))
    else:
        shapes.broadcast(a[:-2], b[:-2])
        _batches_match(a[-2:], (shapes.numel(shapes.broadcast(a[:-2], b[:-2])), *b[-2:]))
    _same_dtype(input, other, len(b) > 2)
    if len(a) == 1:
        return _written(apply(MATMUL, input.unsqueeze(0), other, None).squeeze(-2), out)
    return apply(MATMUL, input, other, None, out=out)


def _written(result, out):
    """``result``, or ``out`` after it was copied there."""
    return result if out is None else out.copy_(result)


@function(to="torch Tensor", samples=MATRICES)
def mm(input, mat2, *, out=None):
    """(n, m) @ (m, p) -> (n, p), no broadcasting."""
    if len(input.meta.shape) != 2:
        raise RuntimeError("self must be a matrix")
    if len(mat2.meta.shape) != 2:
        raise RuntimeError("mat2 must be a matrix")
    _multiplies(*input.meta.shape, mat2.meta.shape)
    _same_dtype(input, mat2)
    return apply(MATMUL, input, mat2, None, out=out)


def _check_bmm(a, b):
    for x, name in ((a, "batch1"), (b, "batch2")):
        if len(x.meta.shape) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    m, n = a.meta.shape, b.meta.shape
    if m[0] != n[0] or m[2] != n[1]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{m[0]}, {m[2]}] but got: [{n[0]}, {n[1]}].")
    _same_dtype(a, b, True)


@function(to="torch Tensor", samples=[S(T(3, 4, 5), T(3, 5, 2)), S(_tall(3, 5, 4), _tall(3, 2, 5)), S(T(2, 18, 3), T(2, 3, 17)),
                                      S(T(0, 2, 3), T(0, 3, 2))])
def bmm(input, mat2, *, out=None):
    """(b, n, m) @ (b, m, p) -> (b, n, p), no broadcasting."""
    _check_bmm(input, mat2)
    return apply(MATMUL, input, mat2, None, out=out)


@function(to="torch Tensor", samples=[S(T(3, 4), T(4)), S(_tall(300, 5), T(300)), S(T(0, 4), T(4))])
def mv(input, vec, *, out=None):
    """(n, m) @ (m) -> (n)."""
    if len(input.meta.shape) != 2 or len(vec.meta.shape) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {len(input.meta.shape)}, {len(vec.meta.shape)}")
    return matmul(input, vec, out=out)


@function(to="torch Tensor", samples=[S(T(5), T(5)), S(T(700), T(700)), S(T(0), T(0)), S(T(10, view=lambda t: t[::2]), T(5))])
def dot(input, tensor, *, out=None):
    """The sum of products of two vectors of one length."""
    a, b = input.meta.shape, tensor.meta.shape
    if len(a) != 1 or len(b) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(a)}D and {len(b)}D tensors")
    if input.meta.dtype is not tensor.meta.dtype:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {input.meta.dtype.title} and "
                           f"{tensor.meta.dtype.title}")
    if a != b:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same number of elements, "
                           f"but got {a[0]} and {b[0]} elements respectively")
    return _written(apply(MATMUL, input.unsqueeze(0), tensor.unsqueeze(1), None).reshape(()), out)


@function(to="torch Tensor", samples=[S(T(5), T(5))])
def vdot(input, other, *, out=None):
    """dot(); there are no complex numbers to conjugate."""
    return dot(input, other, out=out)


@function(to="torch Tensor", samples=[S(T(3), T(4)), S(T(0), T(4))])
def outer(input, vec2, *, out=None):
    """All products of two vectors: (n), (m) -> (n, m)."""
    for x, name in ((input, "self"), (vec2, "vec2")):
        if len(x.meta.shape) != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {len(x.meta.shape)}-D")
    return FUNCTIONS["torch"]["mul"](input.unsqueeze(1), vec2, out=out)


function(to="torch Tensor", name="ger", samples=[S(T(3), T(4))])(outer)


@function(to="torch Tensor", samples=[S(T(3), T(3)), S(T(2, 3), T(4, 3)), S(T(2, 3), T(5, 4, 3)), S(T(2, 3), T())])
def inner(input, other, *, out=None):
    """Sums of products over both last dims: (*a, n), (*b, n) -> (*a, *b); a 0-d side multiplies."""
    a, b = input.meta.shape, other.meta.shape
    if not a or not b:
        return FUNCTIONS["torch"]["mul"](input, other, out=out)
    if a[-1] != b[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {list(a)} and {list(b)}")
    result = matmul(input.reshape(-1, a[-1]), other.reshape(-1, b[-1]).mT)
    return _written(result.reshape(*a[:-1], *b[:-1]), out)


def _plus(input, product, beta, alpha, out):
    """beta * input + alpha * product(bias); one kernel where both are 1. beta 0 ignores what input holds."""
    if beta == 1 and alpha == 1:
        return product(input, out)
    result = product(None, None)
    result = result if alpha == 1 else result * alpha
    return _written(result if beta == 0 else input * beta + result, out)


def _added(target, input, a, b, beta, alpha, out):
    _expands(input.meta.shape, target)
    _same_dtype(a, b)
    if input.meta.dtype is not a.meta.dtype and not autocasts(input, a):
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {input.meta.dtype.title} and {b.meta.dtype.title}")
    return _plus(input, lambda bias, out: apply(MATMUL, a, b, bias, out=out), beta, alpha, out)


@function(to="torch Tensor", samples=[
    S(T(2, 5), T(2, 3), T(3, 5)), S(T(5), T(2, 3), T(3, 5)), S(T(2, 1), T(2, 3), T(3, 5), beta=0.5, alpha=2.0),
    S(T(40), T(3, 900), T(900, 40), tol=1e-4), S(T(2, 5, values=(float("nan"),) * 10, grad=False), T(2, 3), T(3, 5), beta=0)])
def addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * (mat1 @ mat2); input broadcasts to (n, p)."""
    for x, name in ((mat1, "mat1"), (mat2, "mat2")):
        if len(x.meta.shape) != 2:
            raise RuntimeError(f"{name} must be a matrix, got {len(x.meta.shape)}-D tensor")
    _multiplies(*mat1.meta.shape, mat2.meta.shape)
    return _added((mat1.meta.shape[0], mat2.meta.shape[1]), input, mat1, mat2, beta, alpha, out)


@function(to="torch Tensor", samples=[S(T(2), T(2, 3), T(3)), S(T(1), T(2, 3), T(3), beta=2, alpha=-1.5)])
def addmv(input, mat, vec, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * (mat @ vec)."""
    (n, m), k = mat.meta.shape, vec.meta.shape[0]
    if m != k or input.meta.shape not in ((n,), (1,), ()):
        raise RuntimeError(f"size mismatch, got input ({input.meta.numel}), mat ({n}x{m}), vec ({k})")
    return _plus(input, lambda bias, out: _written(matmul(mat, vec) if bias is None else matmul(mat, vec) + bias, out), beta, alpha, out)


@function(to="torch Tensor", samples=[S(T(2, 3, 2), T(2, 3, 4), T(2, 4, 2)), S(T(2), T(2, 3, 4), T(2, 4, 2), beta=0.5, alpha=3)])
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * bmm(batch1, batch2)."""
    _check_bmm(batch1, batch2)
    return _added((*batch1.meta.shape[:2], batch2.meta.shape[2]), input, batch1, batch2, beta, alpha, out)


@function(to="torch Tensor", samples=[S(T(3, 2), T(2, 3, 4), T(2, 4, 2)), S(T(2), T(2, 3, 4), T(2, 4, 2), beta=0.5, alpha=3)])
def addbmm(input, batch1, batch2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * sum over the batch of bmm(batch1, batch2)."""
    _check_bmm(batch1, batch2)
    b, n, m = batch1.meta.shape
    return addmm(input, batch1.transpose(0, 1).reshape(n, b * m), batch2.reshape(b * m, -1), beta=beta, alpha=alpha, out=out)


@function(to="torch Tensor", samples=[S(T(2, 3), T(2), T(3)), S(T(2, 3), T(2), T(3), beta=2, alpha=0.5)])
def addr(input, vec1, vec2, *, beta=1, alpha=1, out=None):
    """beta * input + alpha * outer(vec1, vec2)."""
    return _plus(input, lambda bias, out: _written(outer(vec1, vec2) if bias is None else outer(vec1, vec2) + bias, out), beta, alpha, out)


@function(to="F", samples=[S(T(2, 3), T(5, 3)), S(T(2, 3), T(5, 3), T(5)), S(T(3), T(5, 3), T(5)), S(T(2, 4, 3), T(5, 3), T(5)),
                           S(T(2, 3), T(3)), S(T(65, 20), T(17, 20), T(17)), S(T(2, 600), T(10, 600), T(10), tol=1e-4),
                           S(T(0, 3), T(5, 3), T(5)),
                           S(T(4, 2, 3, view=lambda t: t.transpose(0, 1)), _tall(3, 5), T(5))])
def linear(input, weight, bias=None):
    """input @ weight.T + bias: (*, in), (out, in), (out) -> (*, out) (torch.nn.functional.linear)."""
    x, w = input.meta.shape, weight.meta.shape
    if len(w) == 1:
        if bias is not None and bias.meta.shape:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
        result = matmul(input, weight)
        return result if bias is None else result + bias
    if not x:
        raise RuntimeError(f"both arguments to linear need to be at least 1D, but they are 0D and {len(w)}D")
    _multiplies(shapes.numel(x[:-1]), x[-1], (w[1], w[0]))
    if bias is None:
        _same_dtype(input, weight)
    else:
        _check_bias(input, weight, bias)
    if len(x) == 1:
        return apply(LINEAR, input.unsqueeze(0), weight, bias).squeeze(0)
    return apply(LINEAR, input, weight, bias)


def _check_bias(input, weight, bias):
    if input.meta.dtype is not weight.meta.dtype and not autocasts(input, weight):
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {input.meta.dtype.title} and {weight.meta.dtype.title}")
    if bias.meta.dtype is not weight.meta.dtype and not autocasts(weight, bias):
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {bias.meta.dtype.title} and {weight.meta.dtype.title}")
    _expands(bias.meta.shape, (shapes.numel(input.meta.shape[:-1]), weight.meta.shape[0]))


@function(to="F", samples=[S(T(3, 2), T(3, 4), T(5, 2, 4), T(5)), S(T(2, 3, 2), T(2, 3, 4), T(5, 2, 4))])
def bilinear(input1, input2, weight, bias=None):
    """y[..., k] = input1 @ weight[k] @ input2 + bias: (*, n), (*, m), (out, n, m) -> (*, out)."""
    n, m = input1.meta.shape[-1], input2.meta.shape[-1]
    out, wn, wm = weight.meta.shape
    if (n, m) != (wn, wm):
        which, got, want = (1, n, wn) if n != wn else (2, m, wm)
        raise RuntimeError(f"bilinear(): input{which} size does not match weight size: got {got} but expected {want}")
    pairs = (input1.unsqueeze(-1) * input2.unsqueeze(-2)).reshape(*input1.meta.shape[:-1], n * m)
    return linear(pairs, weight.reshape(out, n * m), bias)


@function(to="torch", samples=[S(T(3, 2), T(2, 4), T(4, 5))])
def chain_matmul(*matrices, out=None):
    """The product of several matrices in the cheapest order."""
    return _written(multi_dot(matrices), out)


@function(to="linalg", samples=[S([T(3, 2), T(2, 4), T(4, 5)]), S([T(2), T(2, 4), T(4)])])
def multi_dot(tensors, *, out=None):
    """The product of several matrices in the cheapest order; the first and the last may be vectors."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    while len(tensors) > 1:  # greedy: contract the largest inner size first
        inner_sizes = [t.meta.shape[-1] for t in tensors[:-1]]
        i = inner_sizes.index(max(inner_sizes)) if all(len(t.meta.shape) == 2 for t in tensors) else 0
        tensors[i:i + 2] = [matmul(tensors[i], tensors[i + 1])]
    return _written(tensors[0], out)
