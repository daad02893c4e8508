"""Integer maths of fused kernels: which element of an operand belongs to element i of the space that a kernel walks."""
from __future__ import annotations

from .. import shape as shapes


class Terms:
    """An operand's address as ``offset`` + the sum of (i / inner % size) * stride over ``terms`` (inner, size, stride); i runs over ``numel``."""
    __slots__ = ("offset", "terms", "numel")

    def __init__(self, offset, terms, numel):
        self.offset, self.terms, self.numel = offset, terms, numel

    @property
    def linear(self):
        """Whether the address is offset + i."""
        return self.numel == 1 or self.terms == ((1, self.numel, 1),)

    def same(self, other):
        return self.offset == other.offset and self.terms == other.terms and self.numel == other.numel


def terms_of(meta, shape) -> Terms:
    """The Terms of an operand broadcast to ``shape``, whose row-major index is i."""
    sizes, (strides,) = shapes.collapse(shape, [shapes.broadcast_strides(meta.shape, meta.strides, shape)])
    found, inner = [], 1
    for n, s in zip(reversed(sizes), reversed(strides)):
        if s:
            found.append((inner, n, s))
        inner *= n
    return Terms(meta.offset, tuple(found), inner)


class Rows:
    """How a space splits into rows: output o of ``outputs`` reduces ``count`` elements. ``kept`` and ``reduced`` are tuples of
    (size, stride in the space)."""
    __slots__ = ("outputs", "count", "kept", "reduced", "numel")

    def __init__(self, shape, dims):
        strides = shapes.contiguous_strides(shape)
        self.kept = _collapsed(shape, strides, [d for d in range(len(shape)) if d not in dims])
        self.reduced = _collapsed(shape, strides, dims)
        self.outputs, self.count = shapes.numel(n for n, _ in self.kept), shapes.numel(n for n, _ in self.reduced)
        self.numel = self.outputs * self.count

    def key(self):
        return self.kept, self.reduced

    def row_terms(self, terms):
        """The Terms over o of an operand that is the same along its row; None where it varies."""
        found, inner = [], 1
        for n, step in reversed(self.kept):
            for at, size, stride in terms.terms:
                if step <= at < step * n:
                    if at * size > step * n or at % step:
                        return None
                    found.append((inner * (at // step), size, stride))
            inner *= n
        if len(found) != len(terms.terms):
            return None
        return Terms(terms.offset, _merged(found), inner)


def _merged(terms):
    """Neighbouring terms that step evenly, as one."""
    found: list = []
    for inner, size, stride in sorted(terms):
        if found:
            at, n, s = found[-1]
            if inner == at * n and stride == s * n:
                found[-1] = (at, n * size, s)
                continue
        found.append((inner, size, stride))
    return tuple(found)


def _collapsed(shape, strides, dims):
    sizes, (steps,) = shapes.collapse([shape[d] for d in dims], [[strides[d] for d in dims]])
    return tuple(zip(sizes, steps))
