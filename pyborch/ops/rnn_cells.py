"""One step of LSTM and GRU: gates from two products (of the input and of the last state), the next state; one kernel forward, one backward."""
from __future__ import annotations

from .. import kernels
from ..autograd import apply, is_grad_enabled
from .decode import bound, typed
from .matmul import upcast
from .registry import FUNCTIONS, Op

# WGSL of the kernels' bodies. Gates of the LSTM: i, f, g, o; of the GRU: r, z, n.
LSTM_GATES = """let i = logistic(both(gate(row, column, 0u))); let f = logistic(both(gate(row, column, 1u)));
  let g = safe_tanh(both(gate(row, column, 2u))); let o = logistic(both(gate(row, column, 3u)));
  let before = f32(s[p.s_offset + at]); let after = f * before + i * g;"""
LSTM_BODY = f"""fn body(at: u32, row: u32, column: u32) {{
  {LSTM_GATES}
  state[at] = C(after);
  y[at] = T(o * safe_tanh(after));
}}"""
LSTM_GRAD_BODY = f"""fn body(at: u32, row: u32, column: u32) {{
  {LSTM_GATES}
  let t = safe_tanh(after);
  let gy = f32(a[p.a_offset + at]);
  let gs = f32(b[p.b_offset + at]) + gy * o * (1.0 - t * t);
  gates[gate(row, column, 0u)] = T(gs * g * i * (1.0 - i));
  gates[gate(row, column, 1u)] = T(gs * before * f * (1.0 - f));
  gates[gate(row, column, 2u)] = T(gs * i * (1.0 - g * g));
  gates[gate(row, column, 3u)] = T(gy * t * o * (1.0 - o));
  state[at] = C(gs * f);
}}"""
GRU_GATES = """let r = logistic(both(gate(row, column, 0u))); let z = logistic(both(gate(row, column, 1u)));
  let hidden = f32(h[p.h_offset + gate(row, column, 2u)]); let n = safe_tanh(f32(x[p.x_offset + gate(row, column, 2u)]) + r * hidden);
  let before = f32(s[p.s_offset + at]);"""
GRU_BODY = f"""fn body(at: u32, row: u32, column: u32) {{
  {GRU_GATES}
  y[at] = T(n + z * (before - n));
}}"""
GRU_GRAD_BODY = f"""fn body(at: u32, row: u32, column: u32) {{
  {GRU_GATES}
  let gy = f32(a[p.a_offset + at]);
  let gn = gy * (1.0 - z) * (1.0 - n * n);
  let gr = gn * hidden * r * (1.0 - r);
  let gz = gy * (before - n) * z * (1.0 - z);
  gates[gate(row, column, 0u)] = T(gr); inner[gate(row, column, 0u)] = T(gr);
  gates[gate(row, column, 1u)] = T(gz); inner[gate(row, column, 1u)] = T(gz);
  gates[gate(row, column, 2u)] = T(gn); inner[gate(row, column, 2u)] = T(gn * r);
  state[at] = C(gy * z);
}}"""


def _dispatch(plan, gates, body, x, h, s, gradients, outputs):
    """``outputs`` and ``gradients`` are (name, operand)."""
    x, h, s = plan.contiguous(x), plan.contiguous(h), plan.contiguous(s)
    gradients = [(name, plan.contiguous(g)) for name, g in gradients]
    named = [("read", "x", x), ("read", "h", h), ("read", "s", s), *(("read", *g) for g in gradients), *(("read_write", *o) for o in outputs)]
    words = [s.meta.numel, s.meta.shape[1], x.meta.offset, h.meta.offset, s.meta.offset, *(g.meta.offset for _, g in gradients)]
    types = {"T": x.meta.dtype.wgsl, "C": s.meta.dtype.wgsl}
    text = bound(typed(named)) + kernels.source("pointwise_functions") + body
    if s.meta.numel:
        plan.dispatch(kernels.from_file("rnn", {"GATES": gates}, types, text), [o for _, _, o in named], (words + [0, 0])[:7], -(-s.meta.numel // 64))


def _logistic(np, x):
    return 1 / (1 + np.exp(-x))


def _lstm_gates(np, x, h, c):
    x, h, c = upcast(np, x, h, c)
    i, f, g, o = np.split(x + h, 4, axis=1)
    i, f, g, o = _logistic(np, i), _logistic(np, f), np.tanh(g), _logistic(np, o)
    return i, f, g, o, f * c + i * g


def _lstm_numpy(np, x, h, c):
    with np.errstate(over="ignore"):
        _, _, _, o, after = _lstm_gates(np, x, h, c)
    return o * np.tanh(after), after


def _lstm_grad_numpy(np, x, h, c, gy, gc):
    with np.errstate(over="ignore"):
        i, f, g, o, after = _lstm_gates(np, x, h, c)
    t = np.tanh(after)
    gs = gc + gy * o * (1 - t * t)
    return np.concatenate([gs * g * i * (1 - i), gs * c * f * (1 - f), gs * i * (1 - g * g), gy * t * o * (1 - o)], 1), gs * f


def _gru_gates(np, x, h, s):
    x, h, s = upcast(np, x, h, s)
    (xr, xz, xn), (hr, hz, hn) = np.split(x, 3, axis=1), np.split(h, 3, axis=1)
    with np.errstate(over="ignore"):
        r, z = _logistic(np, xr + hr), _logistic(np, xz + hz)
    return r, z, np.tanh(xn + r * hn), hn


def _gru_numpy(np, x, h, s):
    _, z, n, _ = _gru_gates(np, x, h, s)
    return n + z * (s - n)


def _gru_grad_numpy(np, x, h, s, gy):
    r, z, n, hidden = _gru_gates(np, x, h, s)
    gn = gy * (1 - z) * (1 - n * n)
    gr, gz = gn * hidden * r * (1 - r), gy * (s - n) * z * (1 - z)
    return np.concatenate([gr, gz, gn], 1), np.concatenate([gr, gz, gn * r], 1), gy * z


def lstm_of_tensors(x, h, c):
    """The step in tensor operations, for derivatives of the gradient."""
    i, f, g, o = (x + h).chunk(4, 1)
    after = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * after.tanh(), after


def gru_of_tensors(x, h, s):
    """The step in tensor operations, for derivatives of the gradient."""
    (xr, xz, xn), (hr, hz, hn) = x.chunk(3, 1), h.chunk(3, 1)
    z = (xz + hz).sigmoid()
    n = (xn + (xr + hr).sigmoid() * hn).tanh()
    return n + z * (s - n)


def _again(step, tensors, gs):
    """Gradients that have a history themselves: those of the same step made of tensor operations."""
    from ..autograd.backward import grad
    results = step(*tensors)
    pairs = [(y, g) for y, g in zip(results if isinstance(results, tuple) else (results,), gs) if g is not None]
    wanted = [t for t in tensors if t.requires_grad]
    found = iter(grad([y for y, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True))
    return tuple(next(found) if t.requires_grad else None for t in tensors)


def _zeros(g, like):
    return FUNCTIONS["torch"]["zeros_like"](like.detach()) if g is None else g


def _lstm_rule(gs, x, h, s):
    if is_grad_enabled():
        return _again(lstm_of_tensors, (x, h, s), gs)
    gates, state = apply(LSTM_GRAD, x, h, s, _zeros(gs[0], s), _zeros(gs[1], s))
    return gates, gates, state


def _gru_rule(gs, x, h, s):
    return _again(gru_of_tensors, (x, h, s), gs) if is_grad_enabled() else apply(GRU_GRAD, x, h, s, gs[0])


LSTM = Op("lstm_step", lambda x, h, s: [(s.shape, x.dtype), (s.shape, s.dtype)],
          lambda plan, x, h, s, y, state: _dispatch(plan, 4, LSTM_BODY, x, h, s, [], [("y", y), ("state", state)]), _lstm_numpy,
          grad={("x", "h", "s"): _lstm_rule}, doc="A step of an LSTM: gates (N, 4 H) of the input and of the last output, cell state (N, H) -> output, cell state.")
LSTM_GRAD = Op("lstm_step_grad", lambda x, h, s, a, b: [(x.shape, x.dtype), (s.shape, s.dtype)],
               lambda plan, x, h, s, a, b, gates, state: _dispatch(plan, 4, LSTM_GRAD_BODY, x, h, s, [("a", a), ("b", b)], [("gates", gates), ("state", state)]),
               _lstm_grad_numpy, doc="The gradients of lstm_step for its gates and its cell state.")
GRU = Op("gru_step", lambda x, h, s: (s.shape, x.dtype), lambda plan, x, h, s, y: _dispatch(plan, 3, GRU_BODY, x, h, s, [], [("y", y)]), _gru_numpy,
         grad={("x", "h", "s"): _gru_rule}, doc="A step of a GRU: gates (N, 3 H) of the input and of the last state, last state (N, H) -> state.")
GRU_GRAD = Op("gru_step_grad", lambda x, h, s, a: [(x.shape, x.dtype), (x.shape, x.dtype), (s.shape, s.dtype)],
              lambda plan, x, h, s, a, gates, inner, state: _dispatch(plan, 3, GRU_GRAD_BODY, x, h, s, [("a", a)],
                                                                      [("gates", gates), ("inner", inner), ("state", state)]),
              _gru_grad_numpy, doc="The gradients of gru_step for both kinds of gates and for the last state.")
