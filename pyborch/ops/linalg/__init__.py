"""Linear algebra: decompositions with a kernel each, and what is composed of them (torch.linalg)."""
from . import distance, exponential, lu, products, solve  # noqa: F401
