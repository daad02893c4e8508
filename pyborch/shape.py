"""Integer mathematics on shapes and strides; raises PyTorch's errors."""
from __future__ import annotations


class Size(tuple):
    """A shape; a tuple of ints that prints as ``torch.Size([2, 3])``."""
    __slots__ = ()

    def numel(self) -> int:
        return numel(self)

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple(self) + tuple(other))


def numel(shape) -> int:
    """Product of the sizes."""
    total = 1
    for n in shape:
        total *= n
    return total


def contiguous_strides(shape) -> tuple:
    """Row-major strides, as PyTorch gives them (a size of 0 counts as 1)."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n if n > 1 else 1
    return tuple(reversed(strides))


def is_contiguous(shape, strides) -> bool:
    """Whether the elements lie in row-major order without gaps; strides of sizes 0 and 1 do not matter."""
    step = 1
    for n, s in zip(reversed(shape), reversed(strides)):
        if n == 0:
            return True
        if n != 1:
            if s != step:
                return False
            step *= n
    return True


def overlaps_itself(shape, strides) -> bool:
    """Whether two indices of a view surely share memory (a stride of 0 on a size over 1)."""
    return any(s == 0 and n > 1 for n, s in zip(shape, strides))


def normalize_dim(dim: int, rank: int) -> int:
    """A dim in 0..rank-1; IndexError outside [-rank, rank-1] (0-d tensors count as 1-d)."""
    span = rank if rank > 0 else 1
    if not -span <= dim < span:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")
    return dim + span if dim < 0 else dim


def normalize_dims(dims, rank: int) -> tuple:
    """Dims as a sorted tuple without repeats; None and () mean all."""
    if dims is None:
        return tuple(range(rank))
    if isinstance(dims, int):
        dims = (dims,)
    result = [normalize_dim(d, rank) for d in dims]
    if rank == 0:
        return ()
    if len(set(result)) != len(result):
        repeated = next(d for d in result if result.count(d) > 1)
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return tuple(sorted(result)) if result else tuple(range(rank))


def broadcast(*shapes) -> tuple:
    """The common shape; RuntimeError with PyTorch's words where sizes differ."""
    if len(shapes) == 1 or all(s == shapes[0] for s in shapes[1:]):
        return tuple(shapes[0])
    result = tuple(shapes[0])
    for other in shapes[1:]:
        result = _broadcast_two(result, other)
    return result


def _broadcast_two(a, b):
    rank = max(len(a), len(b))
    out = []
    for i in range(rank):
        m = a[i - rank + len(a)] if i >= rank - len(a) else 1
        n = b[i - rank + len(b)] if i >= rank - len(b) else 1
        if m != n and m != 1 and n != 1:
            raise RuntimeError(f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension {i}")
        out.append(n if m == 1 else m)
    return tuple(out)


def broadcast_strides(shape, strides, target) -> tuple:
    """Strides that read a view of ``shape`` as ``target`` (0 where it is repeated)."""
    lead = len(target) - len(shape)
    return (0,) * lead + tuple(0 if n == 1 and t != 1 else s for n, s, t in zip(shape, strides, target[lead:]))


def infer_size(shape, count: int) -> tuple:
    """Replace one -1 so that the product is ``count``; RuntimeError as PyTorch's view."""
    shape = tuple(shape)
    unknown = [i for i, n in enumerate(shape) if n == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in shape):
        raise RuntimeError(f"invalid shape dimension {next(n for n in shape if n < -1)}")
    known = numel(n for n in shape if n != -1)
    if unknown:
        if known == 0 and count == 0:
            raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension "
                               "size -1 can be any value and is ambiguous")
        if known and count % known == 0:
            return shape[:unknown[0]] + (count // known,) + shape[unknown[0] + 1:]
    elif known == count:
        return shape
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")


def view_strides(shape, strides, target):
    """Strides of ``target`` over the same memory, or None where a copy is needed."""
    if numel(shape) == 0:
        return contiguous_strides(target)
    merged = collapse(shape, [strides])
    sizes, (steps,) = merged
    result, axis = [0] * len(target), len(sizes) - 1
    left, step = (sizes[axis], steps[axis]) if axis >= 0 else (1, 1)
    for i in range(len(target) - 1, -1, -1):
        n = target[i]
        if n == 1:
            result[i] = step
            continue
        if left == 1 and axis > 0:
            axis -= 1
            left, step = sizes[axis], steps[axis]
        if left % n:
            return None
        result[i] = step
        step *= n
        left //= n
    return tuple(result)


def collapse(shape, operands):
    """Merge neighbouring dims that every operand steps through evenly.

    ``operands`` is a list of stride tuples over ``shape``; returns (sizes, [strides per operand]) with sizes of 1 dropped.
    """
    sizes, strides = [], [[] for _ in operands]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        if sizes and all(s[-1] == o[axis] * n for s, o in zip(strides, operands)):
            sizes[-1] *= n
            for s, o in zip(strides, operands):
                s[-1] = o[axis]
        else:
            sizes.append(n)
            for s, o in zip(strides, operands):
                s.append(o[axis])
    return tuple(sizes), [tuple(s) for s in strides]
