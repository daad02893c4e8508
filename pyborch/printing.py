"""PyTorch's printed form of tensors, and set_printoptions."""
from __future__ import annotations

import math

OPTIONS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """How tensors print: digits, elements before a summary, items at the edges, line width, scientific notation."""
    if profile is not None:
        OPTIONS.update(zip(("precision", "threshold", "edgeitems", "linewidth"), _PROFILES[profile]))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    OPTIONS.update({k: v for k, v in given.items() if v is not None})
    OPTIONS["sci_mode"] = sci_mode


class _Formatter:
    """Chooses one width and notation for all numbers of a tensor."""

    def __init__(self, values, is_float):
        self.is_float, self.whole, self.scientific, self.width = is_float, True, False, 1
        if not is_float:
            self.width = max([len(str(v)) for v in values], default=1)
            return
        finite = [abs(v) for v in values if math.isfinite(v) and v != 0]
        if not finite:
            self.width = max([len(self.one(v)) for v in values], default=1) if values else 1
            return
        largest, smallest = max(finite), min(finite)
        self.whole = all(v == math.ceil(v) for v in values if math.isfinite(v))
        digits = OPTIONS["precision"]
        if self.whole:
            self.scientific = largest / smallest > 1000.0 or largest > 1.0e8
        else:
            self.scientific = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
        widths = []
        considered = [v for v in values if math.isfinite(v) and v != 0]
        for v in considered:
            if self.scientific:
                widths.append(len(f"{v:.{digits}e}"))
            else:
                widths.append(len(f"{v:.0f}") if self.whole else len(f"{v:.{digits}f}"))
        self.width = max([self.width, *widths])
        if self.whole and not self.scientific:
            self.width += 1  # the point after a whole number
        if OPTIONS["sci_mode"] is not None:
            self.scientific = OPTIONS["sci_mode"]

    def one(self, v):
        if not self.is_float:
            return str(v)
        if self.scientific:
            return f"{v:.{OPTIONS['precision']}e}"
        if self.whole:
            return f"{v:.0f}" + ("" if math.isinf(v) or math.isnan(v) else ".")
        return f"{v:.{OPTIONS['precision']}f}"

    def __call__(self, v):
        text = self.one(v)
        return " " * (self.width - len(text)) + text


def text(x) -> str:
    """``tensor(...)`` as PyTorch prints it."""
    prefix = x._repr_prefix() if hasattr(x, "_repr_prefix") else "tensor("
    m, suffixes = x.meta, []
    if m.device.type != "cpu":
        suffixes.append(f"device='{m.device.type}:0'")
    if m.numel == 0:
        if len(m.shape) != 1:
            suffixes.append(f"size={tuple(m.shape)}")
        if m.dtype.name != "float32":
            suffixes.append(f"dtype={m.dtype}")
        body = "[]"
    else:
        if m.dtype.name not in ("float32", "int64", "bool"):
            suffixes.append(f"dtype={m.dtype}")
        body = _body(x.detach(), len(prefix))
    edge = x.grad_fn
    if edge is not None:
        suffixes.append(f"grad_fn=<{edge.name()}>")
    elif x.requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(prefix + body, suffixes, len(prefix))


def _with_suffixes(written, suffixes, indent):
    last = len(written) - written.rfind("\n") - 1
    for suffix in suffixes:
        if last + len(suffix) + 3 > OPTIONS["linewidth"]:
            written += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            written += ", " + suffix
            last += len(suffix) + 2
    return written + ")"


def _body(x, indent):
    summarize = x.meta.numel > OPTIONS["threshold"]
    shown = _edges(x) if summarize else x
    data = shown.tolist()
    flat = _flat(data, len(shown.shape))
    formatter = _Formatter(flat, x.meta.dtype.kind == "f")
    return _nested(data, list(x.meta.shape), indent, summarize, formatter)


def _edges(x):
    """The corners of a large tensor, joined: what a summary shows."""
    from .ops.join import cat
    edge = OPTIONS["edgeitems"]
    for d, n in enumerate(x.shape):
        if n > 2 * edge:
            x = cat([x.narrow(d, 0, edge), x.narrow(d, n - edge, edge)], d)
    return x


def _flat(data, rank):
    if rank == 0:
        return [data]
    for _ in range(rank - 1):
        data = [v for part in data for v in part]
    return data


def _nested(data, shape, indent, summarize, formatter):
    if not shape:
        return formatter(data)
    edge = OPTIONS["edgeitems"]
    short = summarize and shape[0] > 2 * edge
    if len(shape) == 1:
        return _row(data, indent, formatter, edge if short else None)
    parts = [_nested(part, shape[1:], indent + 1, summarize, formatter) for part in data]
    if short:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(parts) + "]"


def _row(data, indent, formatter, edge):
    per_line = max(1, int(math.floor((OPTIONS["linewidth"] - indent) / (formatter.width + 2))))
    items = [formatter(v) for v in data]
    if edge is not None:
        items.insert(edge, " ...")
    lines = [items[i:i + per_line] for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(", ".join(line) for line in lines) + "]"
