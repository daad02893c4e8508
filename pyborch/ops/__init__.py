"""Every operation as one record; importing this package fills the registry."""
from . import activation, arithmetic, create, extremes, fill, join, losses, norm, pointwise, reduce, softmax, special, vector_norm, views  # noqa: F401
