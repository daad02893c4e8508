"""Recurrent layers: RNN, LSTM, GRU and their cells (torch.nn.LSTM)."""
from __future__ import annotations

import math
import warnings

from ..autograd import state
from ..ops import registry
from ..ops.rnn import recurrent
from . import init
from .module import Module
from .parameter import empty_parameter
from .utils.rnn import PackedSequence

torch = registry.namespace("torch")
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _check_options(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size):
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if dropout > 0 and num_layers == 1:
        warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, but "
                      f"got dropout={dropout} and num_layers={num_layers}", stacklevel=4)
    for name, value, kind in (("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int), ("hidden_size", hidden_size, int)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """What recurrent layers share: weights ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ... for each layer and direction."""

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device=None, dtype=None):
        super().__init__()
        _check_options(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                self._add_weights(layer, suffix, device, dtype)
        self.reset_parameters()

    def _add_weights(self, layer, suffix, device, dtype):
        gates, output = GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        width = self.input_size if layer == 0 else output * (2 if self.bidirectional else 1)
        shapes = {"weight_ih": (gates, width), "weight_hh": (gates, output)}
        if self.bias:
            shapes.update(bias_ih=(gates,), bias_hh=(gates,))
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = [f"{name}_l{layer}{suffix}" for name in shapes]
        for name, shape in zip(names, shapes.values()):
            setattr(self, name, empty_parameter(shape, device, dtype))
        self._all_weights.append(names)

    @property
    def all_weights(self) -> list:
        """The weights, a list per layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for names in self._all_weights for name in names]

    def flatten_parameters(self) -> None:
        """Does nothing: weights need not lie side by side here."""

    def reset_parameters(self) -> None:
        """All weights from U(-1/sqrt(hidden_size), 1/sqrt(hidden_size))."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input, batch_sizes) -> None:
        """ValueError for another dtype than the weights', RuntimeError for a wrong number of dims or of features."""
        weight = self._flat_weights[0]
        if input.dtype is not weight.dtype and state.autocast is None:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). "
                             f"Convert input: input.to({weight.dtype}), or convert model: model.to({input.dtype})")
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.shape[-1]:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}")

    def _expected(self, input, sizes, width):
        batch = sizes[0] if sizes is not None else input.shape[0 if self.batch_first else 1]
        return self.num_layers * (2 if self.bidirectional else 1), int(batch), width

    def get_expected_hidden_size(self, input, batch_sizes) -> tuple:
        """The shape that the first hidden state must have."""
        return self._expected(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg: str = "Expected hidden size {}, got {}") -> None:
        """RuntimeError unless ``hx`` has the expected shape."""
        if tuple(hx.shape) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        """Check input and first state; a subclass may check more."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """The states with the batch in another order; ``permutation`` may be None."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # The same for one state and for the LSTM's two: states are a list inside.

    def _widths(self):
        return [self.proj_size or self.hidden_size]

    def _check_rank(self, hx, batched):
        dims, wanted = hx[0].dim(), 3 if batched else 2
        if dims != wanted:
            raise RuntimeError(f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be {wanted}-D but got {dims}-D tensor")

    def _zeros(self, input, sizes):
        return [torch["zeros"](self._expected(input, sizes, width), dtype=input.dtype, device=input.device) for width in self._widths()]

    def _run(self, input, hx):
        """(output, states) for input that is packed, batched or neither; ``hx`` a list of states or None."""
        if isinstance(input, PackedSequence):
            data, sizes = input.data, input.sizes
            hx = self._zeros(data, sizes) if hx is None else [self.permute_hidden(h, input.sorted_indices) for h in hx]
            self._check(data, hx, sizes)
            y, last = self._compute(data, hx, sizes)
            return input.with_data(y), [self.permute_hidden(h, input.unsorted_indices) for h in last]
        if input.dim() not in (2, 3):
            extra = "" if self.mode == "LSTM" or self.mode == "GRU" else " tensor"
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D{extra} instead")
        batched, dim = input.dim() == 3, 0 if self.batch_first else 1
        if hx is not None:
            self._check_rank(hx, batched)
            hx = hx if batched else [h.unsqueeze(1) for h in hx]
        x = input if batched else input.unsqueeze(dim)
        hx = self._zeros(x, None) if hx is None else hx
        self._check(x, hx, None)
        y, last = self._compute(x, hx, None)
        return (y, last) if batched else (y.squeeze(dim), [h.squeeze(1) for h in last])

    def _check(self, input, hx, sizes):
        self.check_forward_args(input, hx[0], sizes)

    def _compute(self, input, hx, sizes):
        return recurrent(self.mode, input, hx, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
                         self.batch_first, sizes)

    def forward(self, input, hx=None):
        """(output, last state) for (T, N, I), (N, T, I) where ``batch_first``, (T, I) or a PackedSequence; ``hx`` (layers * directions, N, H)."""
        y, last = self._run(input, None if hx is None else [hx])
        return y, last[0]

    def extra_repr(self):
        shown = (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0), ("bidirectional", False))
        return f"{self.input_size}, {self.hidden_size}" + "".join(f", {n}={getattr(self, n)}" for n, default in shown if getattr(self, n) != default)


class RNN(RNNBase):
    """Elman network ``h' = tanh(W x + b + U h + c)``, or relu by ``nonlinearity``, of any number of layers, in one or both directions."""

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014): gates r, z, n for each layer and direction."""

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter & Schmidhuber 1997): gates i, f, g, o; ``proj_size`` projects the outputs (Sak et al. 2014)."""

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes) -> tuple:
        """The shape that the first cell state must have."""
        return self._expected(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        """Check input, first output and first cell state."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx, permutation):
        """The states with the batch in another order; ``hx`` a tensor or a pair."""
        if isinstance(hx, tuple):
            return tuple(self.permute_hidden(h, permutation) for h in hx)
        return super().permute_hidden(hx, permutation)

    def _widths(self):
        return [self.proj_size or self.hidden_size, self.hidden_size]

    def _check_rank(self, hx, batched):
        wanted = 3 if batched else 2
        if any(h.dim() != wanted for h in hx):
            raise RuntimeError(f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx and cx should also be {wanted}-D but got "
                               f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors")

    def _check(self, input, hx, sizes):
        self.check_forward_args(input, hx, sizes)

    def forward(self, input, hx=None):
        """(output, (last output, last cell state)); input as for RNN, ``hx`` a pair (h0, c0)."""
        y, last = self._run(input, None if hx is None else list(hx))
        return y, tuple(last)


class RNNCellBase(Module):
    """What recurrent cells share: ``weight_ih``, ``weight_hh`` and, with ``bias``, ``bias_ih`` and ``bias_hh``."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = empty_parameter((gates, input_size), device, dtype)
        self.weight_hh = empty_parameter((gates, hidden_size), device, dtype)
        self.register_parameter("bias_ih", empty_parameter((gates,), device, dtype) if bias else None)
        self.register_parameter("bias_hh", empty_parameter((gates,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All weights from U(-1/sqrt(hidden_size), 1/sqrt(hidden_size))."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, function, input, hx, states=1):
        """The cell's function of a batch or of one row; ``hx`` a tensor, a pair or None."""
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        given = [None] * states if hx is None else [hx] if states == 1 else list(hx)
        for k, h in enumerate(given):
            if h is not None and h.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected {'hidden' if states == 1 else f'hx[{k}]'} to be 1D or 2D, got {h.dim()}D instead")
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        zeros = None if hx is not None else torch["zeros"]((x.shape[0], self.hidden_size), dtype=x.dtype, device=x.device)
        given = [zeros if h is None else h if batched else h.unsqueeze(0) for h in given]
        self._check(x, given)
        result = function(x, given[0] if states == 1 else given, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if batched:
            return result
        return result.squeeze(0) if states == 1 else tuple(r.squeeze(0) for r in result)

    def _check(self, x, states):
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        for k, h in enumerate(states):
            if h.shape[0] != x.shape[0]:
                raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden{k} batch size {h.shape[0]}")
            if h.shape[1] != self.hidden_size:
                raise RuntimeError(f"hidden{k} has inconsistent hidden_size: got {h.shape[1]}, expected {self.hidden_size}")

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")
        kind = getattr(self, "nonlinearity", "tanh")
        return text if kind == "tanh" else f"{text}, nonlinearity={kind}"


class RNNCell(RNNCellBase):
    """One step ``tanh(W x + b + U h + c)`` (or relu): (N, I), (N, H) -> (N, H); without N too."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(torch[f"rnn_{self.nonlinearity}_cell"], input, hx)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (N, I), ((N, H), (N, H)) -> (h, c); without N too."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._step(torch["lstm_cell"], input, hx, 2)


class GRUCell(RNNCellBase):
    """One step of a GRU: (N, I), (N, H) -> (N, H); without N too."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._step(torch["gru_cell"], input, hx)
