"""Every operation as one record; importing this package fills the registry."""
# ruff: noqa: F401
from . import activation, advanced, arithmetic, attention
from . import bessel, blocks
from . import conv, convolution_volumes, convolutions, create
from . import einsum, erf, extremes
from . import fill
from . import gamma, gumbel
from . import index
from . import join
from . import losses, losses_legacy, losses_linear, losses_margin
from . import matmul, multihead
from . import norm
from . import paged, parts, pointwise, polynomials, pool, pooling, pooling_volumes
from . import quantized
from . import random, reduce, rnn
from . import searching, shuffle, softmax, sort, special, statistics
from . import unfold, unpooling
from . import vector_norm, views
from . import linalg  # after the others: its functions share names with theirs, and a record is named by who came first
from . import names  # other names of what the others registered
from . import rearrange  # made of the others


def __getattr__(name):
    if name == "aten":      # PyTorch's inner names: imported when first used
        from importlib import import_module
        return import_module(".aten", __name__)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
