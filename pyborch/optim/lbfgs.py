"""Limited-memory BFGS with an optional line search (torch.optim.LBFGS)."""
from __future__ import annotations

import math

from ..autograd import enable_grad, no_grad
from ..autograd import state as mode
from ..errors import CaptureError
from ..ops import registry
from .optimizer import Optimizer, check

torch = registry.namespace("torch")


class Point:
    """A place on the line that is searched: step, value, gradient, slope along the line."""
    __slots__ = ("t", "f", "g", "slope")

    def __init__(self, t, f, g, slope):
        self.t, self.f, self.g, self.slope = t, f, g, slope


def _cubic(a, b, low, high):
    """The minimum, within [low, high], of the cubic through two points with their slopes (Nocedal & Wright, 3.59)."""
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    if a.t > b.t:
        a, b = b, a
    return min(max(b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2)), low), high)


class Search:
    """A step that meets the strong Wolfe conditions along ``direction``; ``evaluate(t)`` gives the Point at step t."""

    C1, C2 = 1e-4, 0.9

    def __init__(self, evaluate, start, longest, tolerance, most):
        self.evaluate, self.start, self.longest, self.tolerance, self.most = evaluate, start, longest, tolerance, most
        self.count, self.tries = 0, 0

    def _at(self, t):
        self.count += 1
        return self.evaluate(t)

    def _rises(self, p):
        return p.f > self.start.f + self.C1 * p.t * self.start.slope

    def _flat(self, p):
        return abs(p.slope) <= -self.C2 * self.start.slope

    def run(self, t):
        """The best Point found."""
        bracket = self._bracket(t)
        return bracket[0] if len(bracket) == 1 else self._zoom(bracket)

    def _bracket(self, t):
        """One Point that will do, or two with an acceptable one between them."""
        before, p = self.start, self._at(t)
        while self.tries < self.most:
            if self._rises(p) or self.tries > 1 and p.f >= before.f:
                return [before, p]
            if self._flat(p):
                return [p]
            if p.slope >= 0:
                return [before, p]
            t = _cubic(before, p, p.t + 0.01 * (p.t - before.t), p.t * 10)
            before, p = p, self._at(t)
            self.tries += 1
        return [self.start, p]

    def _zoom(self, bracket):
        stuck = False
        low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        while self.tries < self.most:
            left, right = sorted(p.t for p in bracket)
            if (right - left) * self.longest < self.tolerance:
                break
            t, margin = _cubic(*bracket, left, right), 0.1 * (right - left)
            if min(right - t, t - left) < margin:        # close to an end twice, or at it: a little inside instead
                if stuck or t >= right or t <= left:
                    t, stuck = (right - margin if abs(t - right) < abs(t - left) else left + margin), False
                else:
                    stuck = True
            else:
                stuck = False
            p = self._at(t)
            self.tries += 1
            if self._rises(p) or p.f >= bracket[low].f:
                bracket[high] = p
                low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
                continue
            done = self._flat(p)
            if not done and p.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = p
            if done:
                break
        return bracket[low]


class LBFGS(Optimizer):
    """Newton's method with curvature from the last ``history_size`` steps (Nocedal 1980); ``line_search_fn="strong_wolfe"`` chooses step lengths.

    ``step(closure)`` evaluates the closure many times and reads the loss and products of vectors each time, so it cannot be compiled.
    """

    def __init__(self, params, lr=1, max_iter: int = 20, max_eval=None, tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9,
                 history_size: int = 100, line_search_fn=None):
        check(lr=lr)
        super().__init__(params, dict(lr=lr, max_iter=max_iter, max_eval=max_iter * 5 // 4 if max_eval is None else max_eval, tolerance_grad=tolerance_grad,
                                      tolerance_change=tolerance_change, history_size=history_size, line_search_fn=line_search_fn))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gradient(self):
        parts = [torch["zeros"](p.numel(), dtype=p.dtype, device=p.device) if p.grad is None else p.grad.reshape(-1) for p in self._params]
        return torch["cat"](parts)

    def _move(self, t, direction):
        at = 0
        for p in self._params:
            p.add_(direction[at:at + p.numel()].view_as(p), alpha=t)
            at += p.numel()

    def _direction(self, state, gradient, history_size):
        """The next direction, by the two loops over remembered steps."""
        change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        ys = change.dot(step).item()
        if ys > 1e-10:
            for name, value in (("old_dirs", change), ("old_stps", step), ("ro", 1.0 / ys)):
                if len(state[name]) == history_size:
                    state[name].pop(0)
                state[name].append(value)
            state["H_diag"] = ys / change.dot(change).item()
        remembered = list(zip(state["old_dirs"], state["old_stps"], state["ro"]))
        q, weights = gradient.neg(), []
        for y, s, ro in reversed(remembered):
            weights.append(s.dot(q).item() * ro)
            q.add_(y, alpha=-weights[-1])
        direction = q * state["H_diag"]
        for (y, s, ro), weight in zip(remembered, reversed(weights)):
            direction.add_(s, alpha=weight - y.dot(direction).item() * ro)
        return direction

    def _search(self, closure, group, state, loss, gradient, t, slope, most):
        """(loss, gradient, evaluations) after a step along the direction whose length the line search chooses."""
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        direction, places = state["d"], [p.clone() for p in self._params]

        def evaluate(t):
            self._move(t, direction)
            f = float(closure())
            g = self._gradient()
            for p, place in zip(self._params, places):
                p.copy_(place)
            return Point(t, f, g, g.dot(direction).item())
        search = Search(evaluate, Point(0, loss, gradient, slope), direction.abs().max().item(), group["tolerance_change"], most)
        best = search.run(t)
        self._move(best.t, direction)
        state["t"] = best.t
        return best.f, best.g, search.count

    def step(self, closure):  # type: ignore[override]
        """Take up to ``max_iter`` steps; returns the loss before them. ``closure`` clears gradients, computes the loss and its gradients."""
        if mode.recorder is not None:
            raise CaptureError("LBFGS: its steps depend on values that it reads; call it outside the compiled function and compile the closure")

        def evaluated():
            with enable_grad():
                return closure()
        with no_grad():
            return self._iterate(evaluated)

    def _iterate(self, closure):
        group, state = self.param_groups[0], self.state[self._params[0]]
        for name in ("func_evals", "n_iter"):
            state.setdefault(name, 0)
        first = closure()
        loss, evaluations, iterations = float(first), 1, 0
        state["func_evals"] += 1
        gradient = self._gradient()
        flat = gradient.abs().max().item() <= group["tolerance_grad"]
        if flat:
            return first
        lr = float(group["lr"])
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(d=gradient.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
                t = min(1.0, 1.0 / gradient.abs().sum().item()) * lr
            else:
                state["d"] = self._direction(state, gradient, group["history_size"])
                t = lr
            state.update(t=t, prev_flat_grad=gradient.clone(), prev_loss=loss)
            slope = gradient.dot(state["d"]).item()
            if slope > -group["tolerance_change"]:
                break
            count = 0
            if group["line_search_fn"] is not None:
                loss, gradient, count = self._search(closure, group, state, loss, gradient, t, slope, group["max_eval"] - evaluations)
            else:
                self._move(t, state["d"])
                if iterations != group["max_iter"]:
                    loss, gradient, count = float(closure()), None, 1
                    gradient = self._gradient()
            flat = gradient.abs().max().item() <= group["tolerance_grad"] if count else flat
            evaluations += count
            state["func_evals"] += count
            if iterations == group["max_iter"] or evaluations >= group["max_eval"] or flat:
                break
            if (state["d"] * state["t"]).abs().max().item() <= group["tolerance_change"] or abs(loss - state["prev_loss"]) < group["tolerance_change"]:
                break
        return first
