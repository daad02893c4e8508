"""Recurrent networks: torch.lstm, gru, rnn_tanh, rnn_relu and their cells.

A layer is one product for the inputs of all steps, then for each step one product with the last output and one kernel. Its gradient walks
back likewise and has the weights' gradient from one product over all steps.
"""
from __future__ import annotations

from ..autograd import Function, apply, is_grad_enabled
from .registry import FUNCTIONS, OPS, S, T, function, pointwise
from .rnn_cells import GRU, GRU_GRAD, LSTM, LSTM_GRAD, gru_of_tensors, lstm_of_tensors

torch = FUNCTIONS["torch"]
F = FUNCTIONS["F"]

pointwise("_rnn_tanh", lambda m, x, h: m.tanh(x + h), kind="float", to="",
          grad={"x": lambda m, g, y: g * (1.0 - y * y), "h": lambda m, g, y: g * (1.0 - y * y)})
pointwise("_rnn_relu", lambda m, x, h: m.maximum(x + h, 0.0), kind="float", to="",
          grad={"x": lambda m, g, y: m.where(y > 0.0, g, 0.0), "h": lambda m, g, y: m.where(y > 0.0, g, 0.0)})
pointwise("_rnn_tanh_back", lambda m, g, y: g * (1.0 - y * y), to="")
pointwise("_rnn_relu_back", lambda m, g, y: m.where(y > 0.0, g, 0.0), to="")


# How a step is taken: step(x, h, states) -> states, the first of which is the output; back(x, h, states before, states after, gradients of the states)
# -> gradients of x, h and the states before (None for one that is not read by itself).

class _Plain:
    states = 1

    def __init__(self, name):
        self.op, self.grad = OPS["_rnn_" + name], OPS[f"_rnn_{name}_back"]

    def step(self, x, h, states):
        return (apply(self.op, x, h),)

    def back(self, x, h, before, after, gs):
        g = apply(self.grad, gs[0], after[0])
        return g, g, (None,)

    of_tensors = step


class _Lstm:
    states = 2

    def step(self, x, h, states):
        return apply(LSTM, x, h, states[1])

    def back(self, x, h, before, after, gs):
        gates, cell = apply(LSTM_GRAD, x, h, before[1], *gs)
        return gates, gates, (None, cell)

    def of_tensors(self, x, h, states):
        return lstm_of_tensors(x, h, states[1])


class _Gru:
    states = 1

    def step(self, x, h, states):
        return (apply(GRU, x, h, states[0]),)

    def back(self, x, h, before, after, gs):
        gates, inner, state = apply(GRU_GRAD, x, h, before[0], gs[0])
        return gates, inner, (state,)

    def of_tensors(self, x, h, states):
        return (gru_of_tensors(x, h, states[0]),)


KINDS = {"LSTM": _Lstm(), "GRU": _Gru(), "RNN_TANH": _Plain("tanh"), "RNN_RELU": _Plain("relu")}


class _Walk:
    """The steps of one direction over packed rows: step t has ``sizes[t]`` rows, sizes fall with t. Equal sizes are the common case."""

    def __init__(self, sizes, reverse):
        starts, total = [], 0
        for n in sizes:
            starts.append(total)
            total += n
        order = list(enumerate(zip(starts, sizes)))
        self.order = [(t, start, n) for t, (start, n) in (reversed(order) if reverse else order)]

    @staticmethod
    def fit(states, start, n, ended):
        """States of ``n`` rows: sequences that end leave (to ``ended``), those that begin come from ``start``."""
        rows = states[0].shape[0]
        if n < rows:
            ended.append([s[n:] for s in states])
            return [s[:n] for s in states]
        return states if n == rows else [torch["cat"]([s, first[rows:n]]) for s, first in zip(states, start)]

    def run(self, step, x, start, product):
        """(outputs by step, last states, [(x, h, states before, states after)] in the order of walking)."""
        outputs, trace, ended = [None] * len(self.order), [], []
        states = [s[:self.order[0][2]] for s in start]
        for t, begin, n in self.order:
            states = self.fit(states, start, n, ended)
            row, h = x[begin:begin + n], product(states[0])
            after = step(row, h, states)
            trace.append((row, h, states, after))
            states = list(after)
            outputs[t] = states[0]
        ended.append(states)
        last = [torch["cat"](parts) if len(parts) > 1 else parts[0] for parts in zip(*reversed(ended))]
        return outputs, last, trace


def _joined(parts):
    return parts[0] if len(parts) == 1 else torch["cat"](parts)


class _Layer(Function):
    """One direction of one layer: gates of the inputs (rows, G), weight (G, H), bias (G) or None, first states -> outputs (rows, H), last states."""

    @staticmethod
    def forward(ctx, kind, sizes, reverse, x, weight, bias, *start):
        ctx.kind, ctx.walk, ctx.has_bias = KINDS[kind], _Walk(sizes, reverse), bias is not None
        outputs, last, trace = ctx.walk.run(ctx.kind.step, x, start, lambda h: F["linear"](h, weight, bias))
        ctx.save_for_backward(x, weight, bias, *start, *[t for row, h, before, after in trace for t in (row, h, *before, *after)])
        # results are other objects than what the history keeps: no cycle
        return (_joined(outputs).detach(), *[s.detach() for s in last])

    @staticmethod
    def backward(ctx, *gs):
        if is_grad_enabled():
            return (None, None, None, *_differentiable(ctx, gs))
        count = ctx.kind.states
        x, weight, bias, *saved = ctx.saved_tensors
        each = iter(saved[count:])
        trace = [(next(each), next(each), [next(each) for _ in range(count)], [next(each) for _ in range(count)]) for _ in ctx.walk.order]
        g_last = list(gs[1:])
        order = ctx.walk.order
        g_x, g_h, began = [None] * len(order), [None] * len(order), []
        flowing = [g[:order[-1][2]] for g in g_last]
        for i in range(len(order) - 1, -1, -1):
            t, begin, n = order[i]
            flowing[0] = flowing[0] + gs[0][begin:begin + n]
            g_x[t], g_h[i], parts = ctx.kind.back(*trace[i], flowing)
            through = g_h[i] @ weight
            flowing = [through if parts[0] is None else through + parts[0], *parts[1:]]
            rows = order[i - 1][2] if i else n
            if n < rows:        # these sequences had ended: their gradient comes from the last states
                flowing = [torch["cat"]([f, g[n:rows]]) for f, g in zip(flowing, g_last)]
            elif n > rows:
                began.append([f[rows:] for f in flowing])
                flowing = [f[:rows] for f in flowing]
        began.append(flowing)
        g_start = [_joined(list(reversed([parts[k] for parts in began]))) for k in range(count)]
        g_rows, before = _joined(g_h), _joined([states[0] for _, _, states, _ in trace])
        return (None, None, None, _joined(g_x), g_rows.t() @ before, g_rows.sum(0) if ctx.has_bias else None, *g_start)


def _differentiable(ctx, gs):
    """The gradients with a history of their own: those of the same walk in tensor operations."""
    from ..autograd.backward import grad
    tensors = ctx.saved_tensors[:3 + ctx.kind.states]
    x, weight, bias, *start = tensors
    outputs, last, _ = ctx.walk.run(ctx.kind.of_tensors, x, start, lambda h: F["linear"](h, weight, bias))
    wanted = [t for t in tensors if t is not None and t.requires_grad]
    found = iter(grad([_joined(outputs), *last], wanted, list(gs), create_graph=True, allow_unused=True))
    return [next(found) if t is not None and t.requires_grad else None for t in tensors]


def _projected(kind, sizes, reverse, x, weight, bias, projection, start):
    """A layer of an LSTM whose outputs are projected: recorded step by step."""
    def step(row, h, states):
        y, cell = KINDS[kind].step(row, h, states)
        return F["linear"](y, projection), cell
    outputs, last, _ = _Walk(sizes, reverse).run(step, x, start, lambda h: F["linear"](h, weight, bias))
    return (_joined(outputs), *last)


def _directions(kind, sizes, x, params, start, biases):
    """(outputs, last states per direction) of one layer."""
    outputs, last = [], []
    for direction, (weights, states) in enumerate(zip(params, start)):
        w_ih, w_hh = weights[:2]
        b_ih, b_hh = weights[2:4] if biases else (None, None)
        gates = F["linear"](x, w_ih, b_ih)
        if len(weights) in (3, 5):
            y, *states = _projected(kind, sizes, direction == 1, gates, w_hh, b_hh, weights[-1], states)
        else:
            y, *states = _Layer.apply(kind, sizes, direction == 1, gates, w_hh, b_hh, *states)
        outputs.append(y)
        last.append(states)
    return outputs[0] if len(outputs) == 1 else torch["cat"](outputs, -1), last


def _network(kind, x, sizes, hx, params, biases, layers, dropout, train, bidirectional):
    """(outputs over packed rows, last states as (layers * directions, N, H) each)."""
    directions, params = 2 if bidirectional else 1, list(params)
    each = len(params) // (layers * directions)
    last = []
    for layer in range(layers):
        numbers = range(layer * directions, (layer + 1) * directions)
        weights = [params[k * each:(k + 1) * each] for k in numbers]
        x, states = _directions(kind, sizes, x, weights, [[s[k] for s in hx] for k in numbers], biases)
        last += states
        if dropout and train and layer < layers - 1:
            x = F["dropout"](x, dropout, True)
    return x, [torch["stack"](parts) for parts in zip(*last)]


def recurrent(kind, input, hx, params, biases, layers, dropout, train, bidirectional, batch_first=False, sizes=None):
    """The network ``kind`` over ``input`` (T, N, I), or packed rows of ``sizes``: (output, [last states]); ``hx`` is a list of the first states."""
    if sizes is not None:
        return _network(kind, input, sizes, hx, params, biases, layers, dropout, train, bidirectional)
    x = input.transpose(0, 1) if batch_first else input
    steps, batch = x.shape[:2]
    if steps == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    y, last = _network(kind, x.reshape(steps * batch, x.shape[2]), [batch] * steps, hx, params, biases, layers, dropout, train, bidirectional)
    y = y.reshape(steps, batch, y.shape[1])
    return y.transpose(0, 1) if batch_first else y, last


def _call(kind, input, second, third, rest):
    """torch.lstm and siblings: (input, hx, params, ...), or (data, batch_sizes, hx, params, ...) of packed sequences."""
    many = kind == "LSTM"
    if isinstance(rest[0], bool):
        hx, params, sizes = second, third, None
    else:
        hx, params, sizes, rest = third, rest[0], second.tolist(), rest[1:]
    y, last = recurrent(kind, input, list(hx) if many else [hx], params, *rest, sizes=sizes)
    return (y, *last)


STATE, WEIGHTS = T(1, 2, 3), [T(3, 2), T(3, 3), T(3), T(3)]
FOUR, THREE = [T(12, 2), T(12, 3), T(12), T(12)], [T(9, 2), T(9, 3), T(9), T(9)]


@function(to="torch", samples=[S(T(4, 2, 2), [STATE, STATE], FOUR, True, 1, 0.0, False, False, False),
                               S(T(2, 3, 2), [T(2, 2, 3), T(2, 2, 3)], FOUR[:2] * 2, False, 1, 0.0, False, True, True)])
def lstm(input, hx, params, *rest):
    """LSTM layers: (input, (h0, c0), weights, has_biases, num_layers, dropout, train, bidirectional, batch_first) -> (output, hn, cn).

    Packed sequences: (data, batch_sizes, (h0, c0), weights, has_biases, num_layers, dropout, train, bidirectional).
    """
    return _call("LSTM", input, hx, params, rest)


@function(to="torch", samples=[S(T(4, 2, 2), STATE, THREE, True, 1, 0.0, False, False, False),
                               S(T(5, 2), T(3, values=(2, 2, 1), dtype="int64"), T(2, 2, 3), THREE * 2, True, 1, 0.0, False, True)])
def gru(input, hx, params, *rest):
    """GRU layers, called like lstm with one state -> (output, hn)."""
    return _call("GRU", input, hx, params, rest)


@function(to="torch", samples=[S(T(4, 2, 2), STATE, WEIGHTS, True, 1, 0.0, False, False, False)])
def rnn_tanh(input, hx, params, *rest):
    """Elman layers h = tanh(W x + b + U h + c), called like gru -> (output, hn)."""
    return _call("RNN_TANH", input, hx, params, rest)


@function(to="torch", samples=[S(T(4, 2, 2), STATE, WEIGHTS, True, 1, 0.0, False, False, False)])
def rnn_relu(input, hx, params, *rest):
    """Elman layers h = relu(W x + b + U h + c), called like gru -> (output, hn)."""
    return _call("RNN_RELU", input, hx, params, rest)


def _cell(kind, input, states, w_ih, w_hh, b_ih, b_hh):
    return KINDS[kind].step(F["linear"](input, w_ih, b_ih), F["linear"](states[0], w_hh, b_hh), states)


ROW = T(2, 3)


@function(to="torch", samples=[S(T(2, 2), [ROW, ROW], *FOUR), S(T(2, 2), [ROW, ROW], *FOUR[:2])])
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of an LSTM: (N, I), ((N, H), (N, H)) -> (h, c)."""
    return _cell("LSTM", input, hx, w_ih, w_hh, b_ih, b_hh)


@function(to="torch", samples=[S(T(2, 2), ROW, *THREE), S(T(2, 2), ROW, *THREE[:2])])
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of a GRU: (N, I), (N, H) -> (N, H)."""
    return _cell("GRU", input, [hx], w_ih, w_hh, b_ih, b_hh)[0]


@function(to="torch", samples=[S(T(2, 2), ROW, *WEIGHTS)])
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step tanh(W x + b + U h + c): (N, I), (N, H) -> (N, H)."""
    return _cell("RNN_TANH", input, [hx], w_ih, w_hh, b_ih, b_hh)[0]


@function(to="torch", samples=[S(T(2, 2), ROW, *WEIGHTS)])
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step relu(W x + b + U h + c): (N, I), (N, H) -> (N, H)."""
    return _cell("RNN_RELU", input, [hx], w_ih, w_hh, b_ih, b_hh)[0]
