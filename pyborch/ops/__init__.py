"""Every operation as one record; importing this package fills the registry."""
from . import (activation, advanced, arithmetic, attention, blocks, conv, convolutions, create, einsum, extremes, fill, index, join,  # noqa: F401
               linalg, losses, matmul, norm, paged, pointwise, pool, pooling, quantized, random, reduce, rnn, shuffle, softmax, sort, special, unfold, vector_norm, views)
from . import pooling_volumes, unpooling  # noqa: F401
