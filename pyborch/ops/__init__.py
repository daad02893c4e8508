"""Every operation as one record; importing this package fills the registry."""
from . import registry  # noqa: F401
