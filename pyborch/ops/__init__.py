"""Every operation as one record; importing this package fills the registry."""
from . import activation, arithmetic, create, fill, join, pointwise, special, views  # noqa: F401
