"""Every operation as one record; importing this package fills the registry."""
from . import activation, arithmetic, conv, convolutions, create, einsum, extremes, fill, join, losses, matmul, norm, pointwise, pool, pooling, random, reduce, softmax, special, unfold, vector_norm, views  # noqa: F401
