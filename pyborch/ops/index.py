"""Reading and writing by index along one dim: gather, scatter, index_select and their kin, embedding, masks."""
from __future__ import annotations

from .. import dtypes, kernels
from .. import shape as shapes
from ..autograd import apply
from .create import tensor
from .registry import FUNCTIONS, Op, S, T, function
from .scatter_plan import plan_scatter

WRITES = {  # how a scattered value v joins the old value a
    "assign": "return v;", "sum": "return a + v;", "prod": "return a * v;", "amax": "return max_of(a, v);", "amin": "return min_of(a, v);"}


def _split(shape, dim):
    """(outer, n, inner) of a row-major tensor around ``dim``."""
    return shapes.numel(shape[:dim]), shape[dim] if shape else 1, shapes.numel(shape[dim + 1:])


def _index_strides(index, dim, inner, spread):
    """(outer, dim, inner) strides of an index: one vector for all columns where ``spread``."""
    m = index.meta.shape[dim if not spread else 0] if index.meta.shape else 1
    return m, ((0, 1, 0) if spread else (m * inner, inner, 1))


# Reading: index has the output's shape, or is a vector along dim (spread)
def _gather_shape(x, index, *, dim, spread, wrap):
    shape = tuple(x.shape[:dim]) + tuple(index.shape) + tuple(x.shape[dim + 1:]) if spread else tuple(index.shape)
    return shape, x.dtype


def _gather_run(plan, x, index, y, *, dim, spread, wrap):
    x, index = plan.contiguous(x), plan.contiguous(index)
    _, n, inner = _split(x.meta.shape, dim)
    m, strides = _index_strides(index, dim, inner, spread)
    words = [y.meta.numel, n, m, inner, *strides, x.meta.offset, index.meta.offset]
    plan.dispatch(kernels.from_file("gather", {"WRAP": wrap}, {"T": x.meta.dtype.wgsl}), [x, index, y], words, -(-y.meta.numel // 256))


def _checked(np, index, n, dim, wrap, error=RuntimeError, words="index {} is out of bounds for dimension {} with size {}"):
    low = -n if wrap else 0
    bad = (index < low) | (index >= n)
    if bad.any():
        raise error(words.format(index[bad].flat[0], dim, n))
    return np.where(index < 0, index + n, index) if wrap else index


def _gather_numpy(np, x, index, *, dim, spread, wrap):
    told = (IndexError, "index out of range in self") if spread and not wrap else (IndexError,) if wrap else ()
    index = _checked(np, index, x.shape[dim] if x.ndim else 1, dim, wrap, *told).astype(np.intp)  # 32 bits in a browser
    if spread:
        return np.take(x, index, dim)
    if not x.ndim:
        return x.reshape(1)[index.reshape(-1)].reshape(index.shape)
    return np.take_along_axis(x, index, dim)


def _gather_gradient(g, index, metas, dim, spread, wrap):
    zeros = g.new_zeros(metas[0].shape)
    return apply(SCATTER, zeros, index, g, dim=dim, spread=spread, wrap=wrap, how="sum")


GATHER = Op("gather", _gather_shape, _gather_run, _gather_numpy, grad={"x": _gather_gradient},
            doc="Elements of x picked by indices along a dim.")


# Writing: source has the index's shape, or is x with m elements along dim (spread)
def _scatter_shape(x, index, source, *, dim, spread, wrap, how):
    return x.shape, x.dtype


def _scatter_run(plan, x, index, source, y, *, dim, spread, wrap, how):
    from .pointwise_plan import copy
    copy(plan, x, y)
    source, index = plan.contiguous(source), plan.contiguous(index)
    outer, n, inner = _split(x.meta.shape, dim)
    m, strides = _index_strides(index, dim, inner, spread)
    v = x.meta.dtype.compute if x.meta.dtype.kind != "b" else "u32"
    extremes = "return max_nan(a, v);", "return min_nan(a, v);"
    if v != "f32":
        extremes = "return max(a, v);", "return min(a, v);"
    text = (f"fn max_of(a: V, v: V) -> V {{ {extremes[0]} }}\nfn min_of(a: V, v: V) -> V {{ {extremes[1]} }}\n"
            f"fn combine(a: V, v: V) -> V {{ {WRITES[how]} }}")
    plan_scatter(plan, index, source, y, (outer, n, inner), m, strides, wrap, (v, text))


def _scatter_numpy(np, x, index, source, *, dim, spread, wrap, how):
    y = x.copy().reshape(1) if not x.ndim else x.copy()
    told = (IndexError,) if wrap or spread and how == "assign" else ()
    index = _checked(np, index, y.shape[dim], dim, wrap, *told).reshape(index.shape or (1,))
    if spread:
        index = np.broadcast_to(index.reshape([-1 if d == dim else 1 for d in range(y.ndim)]), source.shape if source.ndim else (1,))
    where = list(np.indices(index.shape, sparse=True))
    where[dim] = index
    functions = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
    source = source.reshape(index.shape)
    if how == "assign":
        y[tuple(where)] = source
    else:
        functions[how].at(y, tuple(where), source)
    return y.reshape(x.shape)


def _picked(t, index, dim, spread, wrap):
    return apply(GATHER, t, index, dim=dim, spread=spread, wrap=wrap)


def _scatter_gradient(gs, tensors, ys, dim, spread, wrap, how):
    """(for x, None, for source)."""
    g, (x, index, source) = gs[0], tensors
    if how == "sum":
        return g, None, _picked(g, index, dim, spread, wrap)
    if how == "assign":
        zeros = source.new_zeros(source.shape)
        return apply(SCATTER, g, index, zeros, dim=dim, spread=spread, wrap=wrap, how="assign"), None, _picked(g, index, dim, spread, wrap)
    y = ys[0]
    if how == "prod":
        return g * y / x, None, _picked(g * y, index, dim, spread, wrap) / source
    hits_x, hits = (x == y).to(g.dtype), (source == _picked(y, index, dim, spread, wrap)).to(g.dtype)
    count = apply(SCATTER, hits_x, index, hits, dim=dim, spread=spread, wrap=wrap, how="sum")
    share = g / count
    return share * hits_x, None, _picked(share, index, dim, spread, wrap) * hits


SCATTER = Op("scatter", _scatter_shape, _scatter_run, _scatter_numpy, grad={("x", "index", "source"): _scatter_gradient},
             doc="x with elements of source written, added or otherwise combined at indices along a dim.")


# checks
def _check_index(name, index):
    if index.meta.dtype.name not in ("int64", "int32"):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def _narrowed(x, shape, dim):
    """``x`` cut to the index's sizes outside ``dim``."""
    for d, n in enumerate(shape):
        if d != dim and x.shape[d] != n:
            x = x.narrow(d, 0, n)
    return x


def _check_along(name, input, index, dim, what="input"):
    if len(input.shape) != len(index.shape) and not (len(input.shape) <= 1 and len(index.shape) <= 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {what} tensor")
    for d, (n, m) in enumerate(zip(input.shape, index.shape)):
        if d != dim and m > n:
            raise RuntimeError(f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self {list(input.shape)} "
                               f"apart from dimension {dim}")


ROWS = T(3, 4)
PLACES = T(2, 4, dtype="int64", values=(0, 2, 1, 0, 2, 2, 0, 1))
COLUMNS = T(3, 2, dtype="int64", values=(3, 0, 1, 1, 2, 3))


@function(to="torch Tensor", samples=[S(ROWS, 0, PLACES), S(ROWS, 1, COLUMNS), S(T(4, 3, view=lambda t: t.t()), -1, COLUMNS),
                                      S(T(2, 3, 4), 1, T(2, 1, 4, dtype="int64", low=0, high=2)),
                                      S(ROWS, 1, T(2, 3, dtype="int64", low=0, high=3))])
def gather(input, dim, index, *, sparse_grad=False, out=None):
    """Elements of ``input`` along ``dim`` at ``index`` (int64, of the result's shape)."""
    if index.meta.dtype.name not in ("int64", "int32"):
        raise RuntimeError("gather(): Expected dtype int64 for index")
    dim = shapes.normalize_dim(dim, len(input.shape))
    _check_along("gather", input, index, dim)
    return apply(GATHER, _narrowed(input, index.shape, dim), index, dim=dim, spread=False, wrap=False)


@function(to="torch Tensor", samples=[S(ROWS, T(3, 1, dtype="int64", values=(1, 0, 3)), 1)])
def take_along_dim(input, indices, dim=None):
    """gather() with broadcasting; over the flattened tensor where ``dim`` is None."""
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    dim = shapes.normalize_dim(dim, len(input.shape))
    shape = shapes.broadcast(*[tuple(1 if d == dim else n for d, n in enumerate(t.shape)) for t in (input, indices)])
    widen = lambda t: t.expand([t.shape[d] if d == dim else n for d, n in enumerate(shape)])  # noqa: E731
    return gather(widen(input), dim, widen(indices))


@function(to="torch Tensor", samples=[S(ROWS, 0, T(4, dtype="int64", values=(2, 0, 2, 1))), S(T(2, 3, 4), -1, T(2, dtype="int64", values=(3, 0))),
                                      S(T(5), 0, T(2, dtype="int64", values=(4, 4)))])
def index_select(input, dim, index):
    """Slices of ``input`` along ``dim`` in the order of the vector ``index``."""
    if index.dim() > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    _check_index("index_select", index)
    return apply(GATHER, input, index.reshape(-1), dim=shapes.normalize_dim(dim, len(input.shape)), spread=True, wrap=False)


def _source_like(input, src, index):
    return src if hasattr(src, "meta") else input.new_full(tuple(index.shape), src)


def _scatter(input, dim, index, src, how):
    dim = shapes.normalize_dim(dim, len(input.shape))
    if index.meta.dtype.name not in ("int64", "int32"):
        raise RuntimeError("scatter(): Expected dtype int64 for index")
    src = _source_like(input, src, index)
    if src.meta.dtype is not input.meta.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    _check_along("scatter", input, index, dim, "self")
    src = src if tuple(src.shape) == tuple(index.shape) else _narrowed(src.narrow(dim, 0, index.shape[dim]), index.shape, dim)
    whole = all(d == dim or n == m for d, (n, m) in enumerate(zip(input.shape, index.shape)))
    if whole:
        return apply(SCATTER, input, index, src, dim=dim, spread=False, wrap=False, how=how)
    result = input.clone()
    part = _narrowed(result, index.shape, dim)
    part.copy_(apply(SCATTER, _narrowed(input, index.shape, dim), index, src, dim=dim, spread=False, wrap=False, how=how))
    return result


@function(to="torch Tensor", samples=[S(ROWS, 0, T(2, 4, dtype="int64", values=(0, 2, 1, 0, 2, 0, 0, 1)), T(2, 4)),
                                      S(ROWS, 1, T(3, 2, dtype="int64", values=(3, 0, 1, 2, 2, 3)), 2.5)])
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """A copy of ``input`` with ``src`` (a tensor or a number) written at ``index`` along ``dim``; ``reduce`` "add" or "multiply" joins."""
    how = {None: "assign", "add": "sum", "multiply": "prod"}
    if reduce not in how:
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce}")
    return _scatter(input, dim, index, value if src is None else src, how[reduce])


@function(to="torch Tensor", samples=[S(ROWS, 0, PLACES, T(2, 4)), S(ROWS, 1, COLUMNS, T(3, 2)), S(ROWS, 1, T(2, 2, dtype="int64", values=(3, 0, 1, 1)), T(2, 2))])
def scatter_add(input, dim, index, src):
    """A copy of ``input`` with ``src`` added at ``index`` along ``dim``; repeated indices add up in order."""
    return _scatter(input, dim, index, src, "sum")


@function(to="torch Tensor", samples=[S(ROWS, 0, PLACES, T(2, 4), "sum"), S(ROWS, 0, PLACES, T(2, 4, low=0.5), "prod"), S(ROWS, 0, PLACES, T(2, 4), "amax"),
                                      S(ROWS, 0, PLACES, T(2, 4), "amin"), S(ROWS, 0, PLACES, T(2, 4), "mean")])
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """A copy of ``input`` with ``src`` joined at ``index`` by sum, prod, mean, amax or amin."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    if not include_self:
        start = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": float("-inf"), "amin": float("inf")}[reduce]
        hit = scatter_add(input.detach() * 0, dim, index, src.detach() * 0 + 1) > 0
        fresh = scatter_reduce(FUNCTIONS["torch"]["where"](hit, start, input), dim, index, src, "sum" if reduce == "mean" else reduce)
        return fresh / scatter_add(input.detach() * 0 + (~hit).to(input.dtype), dim, index, src.detach() * 0 + 1) if reduce == "mean" else fresh
    if reduce != "mean":
        return _scatter(input, dim, index, src, reduce)
    ones = src.detach() * 0 + 1
    return _scatter(input, dim, index, src, "sum") / _scatter(input.detach() * 0 + 1, dim, index, ones, "sum")


def _along(name, how, doc, samples):
    def call(input, dim, index, source, *, alpha=1):
        dim = shapes.normalize_dim(dim, len(input.shape))
        _check_index(name, index)
        if alpha != 1:
            source = source * alpha
        if source.meta.dtype is not input.meta.dtype:
            raise RuntimeError(f"{name}(): self and source expected to have the same dtype, but got (self) {input.meta.dtype.title} and (source) "
                               f"{source.meta.dtype.title}")
        return apply(SCATTER, input, index.reshape(-1), source, dim=dim, spread=True, wrap=False, how=how)
    call.__doc__ = doc
    function(to="torch Tensor", name=name, samples=samples)(call)
    FUNCTIONS["Tensor"][name + "_"] = _written(call)


def _written(call):
    """The in-place form: the result replaces the values of ``self``."""
    def method(self, *args, **kwargs):
        return self.copy_(call(self, *args, **kwargs))
    method.__doc__ = "In-place form; returns ``self``."
    return method


ORDER = T(2, dtype="int64", values=(2, 0))
_along("index_add", "sum", "A copy with the slices of ``source`` added at ``index`` along ``dim``.",
       [S(ROWS, 0, ORDER, T(2, 4)), S(ROWS, 1, T(3, dtype="int64", values=(1, 1, 3)), T(3, 3), alpha=2)])
_along("index_copy", "assign", "A copy with the slices of ``source`` written at ``index`` along ``dim``.", [S(ROWS, 0, ORDER, T(2, 4))])


@function(to="torch Tensor", samples=[S(ROWS, 0, ORDER, 1.5)])
def index_fill(input, dim, index, value):
    """A copy with ``value`` in the slices at ``index`` along ``dim``."""
    dim = shapes.normalize_dim(dim, len(input.shape))
    shape = [index.numel() if d == dim else n for d, n in enumerate(input.shape)]
    return apply(SCATTER, input, index.reshape(-1), input.new_full(shape, value), dim=dim, spread=True, wrap=True, how="assign")


for _name in ("scatter", "scatter_add", "scatter_reduce", "index_fill"):
    FUNCTIONS["Tensor"][_name + "_"] = _written(FUNCTIONS["Tensor"][_name])


# embedding and one-hot
@function(to="F", samples=[S(T(2, 3, dtype="int64", low=0, high=4), T(5, 4)), S(T(4, dtype="int64", values=(0, 2, 2, 1)), T(3, 2), padding_idx=2)])
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of ``weight`` (V, D) at the indices ``input`` (int64, any shape): result (*input.shape, D). The row ``padding_idx`` gets no gradient."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("embedding(): max_norm and scale_grad_by_freq are not supported")
    if input.meta.dtype.name not in ("int64", "int32"):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
                           f"{input._kind()} instead (while checking arguments for embedding)")
    rows = apply(GATHER, weight, input.reshape(-1), dim=0, spread=True, wrap=False)
    result = rows.reshape((*input.shape, weight.shape[1]))
    if padding_idx is not None and weight.requires_grad:
        padding_idx = padding_idx + weight.shape[0] if padding_idx < 0 else padding_idx
        kept = (input != padding_idx).to(weight.dtype).unsqueeze(-1)
        result = result * kept + result.detach() * (1 - kept)
    return result


@function(to="F", samples=[S(T(4, dtype="int64", values=(0, 2, 2, 1)), 4)])
def one_hot(tensor, num_classes=-1):
    """int64 vectors with 1 at each index of ``tensor``; the number of classes is read from the values where it is -1."""
    if tensor.meta.dtype.name != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    classes = int(tensor.max().item()) + 1 if num_classes == -1 else num_classes
    if tensor.meta.device.type == "cpu" and tensor.numel() and tensor.max().item() >= classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    arange = FUNCTIONS["torch"]["arange"](classes, device=tensor.meta.device)
    return (tensor.unsqueeze(-1) == arange).to(dtypes.int64)


# masks
_C_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "uint32": "unsigned int", "int64": "long int",
            "float16": "c10::Half", "float32": "float", "float64": "double"}


@function(to="torch Tensor", samples=[S(ROWS, T(3, 4, dtype="bool"), 2.0), S(ROWS, T(4, dtype="bool"), -1.0)])
def masked_fill(input, mask, value):
    """A copy with ``value`` where ``mask`` (bool, broadcast) holds."""
    if mask.meta.dtype.name != "bool":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {_C_NAMES[mask.meta.dtype.name]}")
    return FUNCTIONS["torch"]["where"](mask, value, input).to(input.meta.dtype)


FUNCTIONS["Tensor"]["masked_fill_"] = _written(masked_fill)


@function(to="torch Tensor", samples=[S(T(2, 3, values=(0.0, 1.0, 0.0, 2.0, 0.0, 3.0), grad=False)), S(T(4, dtype="bool", values=(True, False, True, True)))])
def nonzero(input, *, as_tuple=False):
    """Indices of elements that are not zero, (count, dims) int64; reads the values. ``as_tuple`` gives one vector per dim."""
    if as_tuple and not input.shape:
        input = input.reshape(1)
    if not input.numel():
        empty = tensor([], dtype=dtypes.int64, device=input.meta.device)
        return (empty,) * len(input.shape) if as_tuple else empty.reshape(0, len(input.shape))
    flat = (input.detach() != 0).tobytes()
    places = tensor([i for i, v in enumerate(flat) if v], dtype=dtypes.int64, device=input.meta.device)
    columns, step = [], 1
    for n in reversed(input.shape):
        columns.insert(0, apply_floor(places, step) % n)
        step *= n
    if as_tuple:
        return tuple(columns)
    if not columns:
        return places.new_zeros((places.numel(), 0))
    return FUNCTIONS["torch"]["stack"](columns, 1)


def apply_floor(places, step):
    return places if step == 1 else places // step


@function(to="torch Tensor", samples=[S(ROWS, T(3, 4, dtype="bool", values=(True, False) * 6)), S(ROWS, T(4, dtype="bool", values=(True, False, False, True)))])
def masked_select(input, mask):
    """The elements where ``mask`` (broadcast) holds, as a vector; reads the mask."""
    shape = shapes.broadcast(tuple(input.shape), tuple(mask.shape))
    places = nonzero(mask.expand(shape).reshape(-1)).reshape(-1)
    return index_select(input.expand(shape).reshape(-1), 0, places)


@function(to="torch Tensor", samples=[S(ROWS, T(2, 2, dtype="int64", values=(0, 5, 11, 3)))])
def take(input, index):
    """Elements of the flattened ``input`` at ``index``."""
    return apply(GATHER, input.reshape(-1), index.reshape(-1), dim=0, spread=True, wrap=True).reshape(index.shape)
