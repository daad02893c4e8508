"""einsum and tensordot: contractions by labels, as permutations, sums and one batched product per pair of operands."""
from __future__ import annotations

from .. import shape as shapes
from .matmul import matmul
from .registry import FUNCTIONS, S, T, function

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
DOTS = "."  # the dims of an ellipsis are labelled "." + their number from the right


def _terms(part, position):
    """The labels of one term of the equation; an ellipsis is one '...'."""
    labels, i = [], 0
    while i < len(part):
        if part[i] == " ":
            i += 1
        elif part[i] == ".":
            if part[i:i + 3] != "..." or "..." in labels:
                raise RuntimeError(f"einsum(): found '.' {position} that is not part of any ellipsis")
            labels.append("...")
            i += 3
        elif part[i] in LETTERS:
            labels.append(part[i])
            i += 1
        else:
            raise RuntimeError(f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]")
    return labels


def _spell(labels, dots):
    """Labels with the ellipsis spelled out over ``dots`` dims."""
    found = []
    for label in labels:
        found += [DOTS + str(k) for k in range(dots, 0, -1)] if label == "..." else [label]
    return found


def _parse(equation, operands):
    """(labels per operand, output labels), ellipses spelled out."""
    left, arrow, right = equation.partition("->")
    terms = [_terms(part, f"for operand {i}") for i, part in enumerate(left.split(","))]
    if len(terms) != len(operands):
        which = "fewer" if len(operands) < len(terms) else "more"
        raise RuntimeError(f"einsum(): {which} operands were provided than specified in the equation")
    inputs, most = [], 0
    for i, (labels, operand) in enumerate(zip(terms, operands)):
        rank, named = len(operand.meta.shape), len([x for x in labels if x != "..."])
        if "..." not in labels and named != rank or named > rank:
            words, end = ("is more than", "") if "..." in labels else ("does not match", " and no ellipsis was given")
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) {words} the number of dimensions ({rank}) "
                               f"for "
                               f"operand {i}{end}")
        most = max(most, rank - named)
        inputs.append(_spell(labels, rank - named))
    if arrow:
        output = _spell(_terms(right, "for the output"), most)
        _check_output(output, inputs)
    else:
        flat = [x for labels in inputs for x in labels]
        single = [x for x in LETTERS if flat.count(x) == 1]
        output = _spell(["..."], most) + single
    return inputs, output


def _check_output(output, inputs):
    for label in output:
        if label[0] == DOTS:
            continue
        if output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once in the output")
        if not any(label in labels for labels in inputs):
            raise RuntimeError(f"einsum(): output subscript {label} does not appear in the equation for any input operand")


def _once(x, labels):
    """Repeated labels of one operand become diagonals."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            if x.meta.shape[i] != x.meta.shape[j]:
                raise RuntimeError(f"einsum(): subscript {label} is repeated for operand 0 but the sizes don't match, {x.meta.shape[j]} != "
                                   f"{x.meta.shape[i]}")
            x = x.diagonal(0, i, j)
            labels = [n for k, n in enumerate(labels) if k not in (i, j)] + [label]
    return x, labels


def _check_sizes(operands, inputs):
    sizes: dict = {}
    for i, (x, labels) in enumerate(zip(operands, inputs)):
        for n, label in zip(x.meta.shape, labels):
            if sizes.get(label, 1) == 1:
                sizes[label] = n
            elif n not in (1, sizes[label]):
                raise RuntimeError(f"einsum(): subscript {label} has size {n} for operand {i} which does not broadcast with previously "
                                   f"seen size {sizes[label]}")
    return sizes


def _ordered(x, labels, order):
    """``x`` permuted and with dims of 1 so that it has the dims ``order``."""
    x = x.permute([labels.index(n) for n in order if n in labels])
    for i, n in enumerate(order):
        if n not in labels:
            x = x.unsqueeze(i)
    return x


def _summed(x, labels, keep):
    """``x`` without the labels that nothing else needs."""
    dims = [i for i, n in enumerate(labels) if n not in keep]
    if not dims:
        return x, labels
    return x.sum(dims).to(x.meta.dtype), [n for n in labels if n in keep]


def _pair(a, la, b, lb, keep, sizes):
    """The product of two operands, summed over the labels not in ``keep``."""
    a, la = _summed(a, la, {*keep, *lb})
    b, lb = _summed(b, lb, {*keep, *la})
    wide = lambda x, labels: {n for n, s in zip(labels, x.meta.shape) if s != 1}  # noqa: E731
    both = wide(a, la) & wide(b, lb)
    summed = [n for n in la if n in both and n not in keep]
    batch = [n for n in la if n in both and n in keep]
    only_a = [n for n in la if n not in both and n not in lb or n in wide(a, la) - both]
    only_b = [n for n in lb if n not in both and n not in only_a]
    (a, la), (b, lb) = _narrow(a, la, [*batch, *summed, *only_a]), _narrow(b, lb, [*batch, *summed, *only_b])
    counts = [shapes.numel(sizes[n] for n in group) for group in (batch, summed)]
    left = a.permute([la.index(n) for n in [*batch, *only_a, *summed]])
    right = b.permute([lb.index(n) for n in [*batch, *summed, *only_b]])
    rows, cols = left.meta.shape[len(batch):len(batch) + len(only_a)], right.meta.shape[len(batch) + len(summed):]
    y = matmul(left.reshape(counts[0], shapes.numel(rows), counts[1]), right.reshape(counts[0], counts[1], shapes.numel(cols)))
    y = y.reshape(*[sizes[n] for n in batch], *rows, *cols)
    return _summed(y, [*batch, *only_a, *only_b], keep)


def _narrow(x, labels, keep):
    """``x`` without dims of 1 that the other operand answers for."""
    for i in range(len(labels) - 1, -1, -1):
        if labels[i] not in keep:
            x = x.squeeze(i)
    return x, [n for n in labels if n in keep]


def _sublists(operands):
    """einsum(a, [0, 1], b, [1, 2], [0, 2]) as an equation and operands."""
    def spell(subscripts):
        return "".join("..." if n is Ellipsis else LETTERS[n] for n in subscripts)
    tensors, lists = operands[0:len(operands) - len(operands) % 2:2], operands[1::2]
    equation = ",".join(spell(x) for x in lists)
    return (equation + "->" + spell(operands[-1]) if len(operands) % 2 else equation), list(tensors)


MATRIX, OTHER, BATCHED = T(3, 4), T(4, 5), T(2, 3, 4)


@function(to="torch", samples=[
    S("ij,jk->ik", MATRIX, OTHER), S("ij,jk", MATRIX, OTHER), S("ij->ji", MATRIX), S("ij->", MATRIX), S("ij->j", MATRIX),
    S("ii->i", T(3, 3)), S("ii", T(3, 3)), S("bij,bjk->bik", BATCHED, T(2, 4, 5)), S("bij,jk->bik", BATCHED, OTHER),
    S("i,j->ij", T(3), T(4)),
    S("i,i->", T(3), T(3)), S("...ij,...jk->...ik", T(2, 1, 3, 4), T(5, 4, 2)), S("bhid,bhjd->bhij", T(2, 2, 3, 4), T(2, 2, 5, 4)),
    S("ij,jk,kl->il", MATRIX, OTHER, T(5, 2)), S("bn,anm,bm->ba", T(2, 3), T(5, 3, 4), T(2, 4)), S("ij,ij->ij", MATRIX, MATRIX),
    S("ij,ik->k", MATRIX, T(3, 5)), S("b...->...", BATCHED), S("ij,jk->ki", T(3, 1), OTHER), S("ba,ca", T(2, 3), T(4, 3))])
def einsum(*args):
    """Sums of products by labels: ``einsum("bij,bjk->bik", a, b)``; ellipses, repeated labels and sublists as in torch.einsum."""
    if isinstance(args[0], str):
        equation, operands = args[0], list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
    else:
        equation, operands = _sublists(args)
    if not operands:
        raise RuntimeError("einsum(): must provide at least one operand")
    inputs, output = _parse(equation, operands)
    pairs = [_once(x, labels) for x, labels in zip(operands, inputs)]
    sizes = _check_sizes([x for x, _ in pairs], [labels for _, labels in pairs])
    x, labels = pairs[0]
    for i, (y, others) in enumerate(pairs[1:], 1):
        keep = {*output, *[n for _, rest in pairs[i + 1:] for n in rest]}
        x, labels = _pair(x, labels, y, others, keep, sizes)
    x, labels = _summed(x, labels, output)
    return _ordered(x, labels, output)


@function(to="torch", samples=[S(BATCHED, T(4, 5), 1), S(BATCHED, T(3, 4, 2), 2), S(BATCHED, T(4, 3, 2), ([1, 2], [1, 0])),
                               S(T(2), T(3), 0)])
def tensordot(a, b, dims=2, out=None):
    """Sums of products over the last ``dims`` dims of ``a`` and the first of ``b``, or over two lists of dims."""
    m, n = a.meta.shape, b.meta.shape
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(len(m), len(n)):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = list(range(len(m) - dims, len(m))), list(range(dims))
        shown = list(range(-dims, 0)), second
    else:
        first, second = ([x] if isinstance(x, int) else list(x) for x in dims)
        shown = first, second
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    first, second = [shapes.normalize_dim(d, len(m)) for d in first], [shapes.normalize_dim(d, len(n)) for d in second]
    for i, j, p, q in zip(first, second, *shown):
        if m[i] != n[j]:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {m[i]} in dim {p} and second has size {n[j]} in "
                               f"dim {q}")
    rest_a, rest_b = [d for d in range(len(m)) if d not in first], [d for d in range(len(n)) if d not in second]
    count = shapes.numel(m[d] for d in first)
    left = a.permute([*rest_a, *first]).reshape(shapes.numel(m[d] for d in rest_a), count)
    right = b.permute([*second, *rest_b]).reshape(count, shapes.numel(n[d] for d in rest_b))
    result = FUNCTIONS["torch"]["mm"](left, right).reshape(*[m[d] for d in rest_a], *[n[d] for d in rest_b])
    return result if out is None else out.copy_(result)
