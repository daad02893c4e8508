"""Linear algebra: decompositions with a kernel each, and what is composed of them (torch.linalg)."""
from . import cholesky, distance, exponential, lu, products, qr, solve, svd  # noqa: F401
