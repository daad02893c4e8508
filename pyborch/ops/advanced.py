"""tensor[index tensors]: several index tensors, broadcast together, over the leading dims of a basic-indexed view."""
from __future__ import annotations

from .. import dtypes
from .. import shape as shapes
from ..autograd import apply
from .index import GATHER, SCATTER, nonzero
from .registry import FUNCTIONS


def _places(x, indices):
    """Integer index tensors per dim (masks become positions), padded with None."""
    found = []
    for i in indices:
        if i is None:
            found.append(None)
        elif i.meta.dtype.name in ("bool", "uint8"):
            dim = len(found)
            for d, n in enumerate(i.shape):
                if n != x.shape[dim + d]:
                    raise IndexError(f"The shape of the mask {list(i.shape)} at index {d} does not match the shape of the indexed tensor {list(x.shape)} at "
                                     f"index {dim + d}")
            found += nonzero(i, as_tuple=True)
        else:
            found.append(i.to(x.meta.device.type))
    return found + [None] * (len(x.shape) - len(found))


class _Geometry:
    """Where indexed dims go: moved to the front and merged; the result's dims take their place or come first (NumPy's rule)."""

    def __init__(self, x, indices):
        places = _places(x, indices)
        self.dims = [d for d, i in enumerate(places) if i is not None]
        self.rest = [d for d in range(len(x.shape)) if d not in self.dims]
        tensors = [places[d] for d in self.dims]
        try:
            self.shape = shapes.broadcast(*[tuple(t.shape) for t in tensors])
        except RuntimeError:
            listed = ", ".join(str(list(t.shape)) for t in tensors)
            raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}") from None
        self.sizes = [x.shape[d] for d in self.dims]
        self.order = self.dims + self.rest
        self.rest_shape = [x.shape[d] for d in self.rest]
        adjacent = self.dims == list(range(self.dims[0], self.dims[0] + len(self.dims)))
        self.at = self.dims[0] if adjacent else 0
        self.linear = self._linear(tensors)

    def _linear(self, tensors):
        total = None
        for k, (t, n) in enumerate(zip(tensors, self.sizes)):
            self._check(t, n, self.dims[k])
            t = t.to(dtypes.int64)
            if len(tensors) > 1:
                t = FUNCTIONS["torch"]["where"](t < 0, t + n, t)
            total = t if total is None else total * n + t
        return total.expand(self.shape).reshape(-1)

    @staticmethod
    def _check(t, n, dim):
        if t.meta.device.type != "cpu" or not t.meta.numel:
            return
        array = t.detach().numpy()
        bad = (array < -n) | (array >= n)
        if bad.any():
            raise IndexError(f"index {array[bad].flat[0]} is out of bounds for dimension {dim} with size {n}")

    def rows(self, x):
        """``x`` as (indexed positions, everything else)."""
        return x.permute(self.order).reshape((shapes.numel(self.sizes), *self.rest_shape))

    def result(self, picked):
        """Picked rows in the result's shape."""
        picked = picked.reshape((*self.shape, *self.rest_shape))
        if self.at == 0:
            return picked
        k = len(self.shape)
        return picked.permute([*range(k, k + self.at), *range(k), *range(k + self.at, k + len(self.rest_shape))])

    def source(self, value):
        """A value for the indexed places as rows."""
        k, full = len(self.shape), (*self.rest_shape[:self.at], *self.shape, *self.rest_shape[self.at:])
        extra = len(value.shape) - len(full)
        if extra > 0 and all(n == 1 for n in value.shape[:extra]):
            value = value.reshape(value.shape[extra:])
        try:
            value = value.expand(full)
        except RuntimeError:
            raise RuntimeError(f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {list(full)}") from None
        if self.at:
            value = value.permute([*range(self.at, self.at + k), *range(self.at), *range(self.at + k, len(full))])
        return value.reshape((shapes.numel(self.shape), *self.rest_shape))


def index(x, indices):
    """``x[indices]``: ``indices`` are tensors over the leading dims, None for dims taken whole."""
    places = _Geometry(x, indices)
    return places.result(apply(GATHER, places.rows(x), places.linear, dim=0, spread=True, wrap=True))


def index_put_(x, indices, value, accumulate=False):
    """Write ``value`` (a tensor that broadcasts) at ``x[indices]`` in place; ``accumulate`` adds, repeated places included."""
    value = value.to(x.meta.device.type).to(x.meta.dtype)
    masks = [i for i in indices if i is not None]
    if len(masks) == 1 and indices[0] is not None and masks[0].meta.dtype.name == "bool" and not value.shape and not accumulate:
        mask = masks[0].reshape(tuple(masks[0].shape) + (1,) * (len(x.shape) - len(masks[0].shape)))
        return x.copy_(FUNCTIONS["torch"]["where"](mask, value, x))
    places = _Geometry(x, indices)
    written = apply(SCATTER, places.rows(x), places.linear, places.source(value), dim=0, spread=True, wrap=True, how="sum" if accumulate else "assign")
    back = [places.order.index(d) for d in range(len(x.shape))]
    return x.copy_(written.reshape((*places.sizes, *places.rest_shape)).permute(back))
