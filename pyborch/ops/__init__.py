"""Every operation as one record; importing this package fills the registry."""
from . import (activation, advanced, arithmetic, attention, blocks, conv, convolutions, create, einsum, extremes, fill, index, join,  # noqa: F401
               linalg, losses, matmul, multihead, norm, paged, pointwise, pool, pooling, pooling_volumes, quantized, random, reduce,
               rnn, shuffle, softmax, sort, special, unfold, unpooling, vector_norm, views)
