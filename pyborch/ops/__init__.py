"""Every operation as one record; importing this package fills the registry."""
from . import activation, arithmetic, create, extremes, fill, join, matmul, pointwise, reduce, special, vector_norm, views  # noqa: F401
