"""Layers, losses, containers and their tools, with PyTorch's names (torch.nn)."""
from __future__ import annotations

from . import functional, init, utils
from .activation import (CELU, ELU, GELU, GLU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid, LogSoftmax, Mish, PReLU, ReLU, ReLU6,
                         RReLU, SELU, Sigmoid, SiLU, Softmax, Softmax2d, Softmin, Softplus, Softshrink, Softsign, Tanh, Tanhshrink, Threshold)
from .attention import MultiheadAttention
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .conv import Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d
from .dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d
from .embedding import Embedding
from .kv_cache import PagedKVCache
from .lazy import (LazyBatchNorm1d, LazyBatchNorm2d, LazyConv1d, LazyConv2d, LazyConvTranspose1d, LazyConvTranspose2d, LazyInstanceNorm1d,
                   LazyInstanceNorm2d, LazyLinear)
from .linear import Bilinear, Flatten, Identity, Linear, Unflatten
from .losses import (BCELoss, BCEWithLogitsLoss, CosineEmbeddingLoss, CrossEntropyLoss, GaussianNLLLoss, HingeEmbeddingLoss, HuberLoss, KLDivLoss, L1Loss,
                     MarginRankingLoss, MSELoss, NLLLoss, PoissonNLLLoss, SmoothL1Loss, SoftMarginLoss, TripletMarginLoss)
from .module import Module
from .norm import BatchNorm1d, BatchNorm2d, GroupNorm, InstanceNorm1d, InstanceNorm2d, LayerNorm, LocalResponseNorm, RMSNorm
from .padding import (ChannelShuffle, CircularPad1d, CircularPad2d, ConstantPad1d, ConstantPad2d, PixelShuffle, PixelUnshuffle, ReflectionPad1d,
                      ReflectionPad2d, ReplicationPad1d, ReplicationPad2d, Upsample, UpsamplingBilinear2d, UpsamplingNearest2d, ZeroPad1d, ZeroPad2d)
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .pooling import (AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d)
from .rnn import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNBase, RNNCell, RNNCellBase
from .transformer import Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer

__all__ = sorted(name for name in ["factory_kwargs", *globals()] if not name.startswith("_") and name not in (
    "annotations", "activation", "attention", "containers",
    "conv", "dropout", "embedding", "hooks", "kv_cache", "lazy", "linear", "losses", "module", "norm", "padding", "parameter", "pooling", "rnn",
    "transformer"))


def factory_kwargs(kwargs):
    """``device``, ``dtype`` and ``memory_format`` out of a layer's keyword arguments, also from ``factory_kwargs`` among them; TypeError for others."""
    if kwargs is None:
        return {}
    names = {"device", "dtype", "memory_format"}
    if unexpected := kwargs.keys() - names - {"factory_kwargs"}:
        raise TypeError(f"unexpected kwargs {unexpected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in sorted(names & kwargs.keys()):
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = kwargs[name]
    return found


def __getattr__(name):
    if name == "modules":       # PyTorch's addresses: imported when first used
        import importlib
        return importlib.import_module(".modules", __name__)
    from ..errors import absent
    raise absent(__name__, name, __all__)
