"""Linear algebra: decompositions with a kernel each, and what is composed of them (torch.linalg)."""
from . import lu, solve  # noqa: F401
