"""Losses as modules (torch.nn): each calls the function of its name in nn.functional."""
from __future__ import annotations

from . import functional as F
from .module import Module


class _Loss(Module):
    """A function of nn.functional with options kept as attributes; tensors among them are buffers."""

    function = ""
    options: tuple = ()

    def __init__(self, *args, size_average=None, reduce=None, reduction="mean", **kwargs):
        super().__init__()
        self.reduction = reduction
        values = {**dict(self.options), **dict(zip((name for name, _ in self.options), args)), **kwargs}
        unknown = set(values) - {name for name, _ in self.options}
        if unknown or len(args) > len(self.options):
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(unknown), 'too many positional arguments')}'")
        for name, value in values.items():
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, *inputs):
        """The loss of ``inputs``, in the order of the function's arguments."""
        return getattr(F, self.function)(*inputs, reduction=self.reduction, **{name: getattr(self, name) for name, _ in self.options})


def _loss(name, function, *options, doc):
    return type(name, (_Loss,), {"function": function, "options": options, "__doc__": doc, "__module__": __name__})


CrossEntropyLoss = _loss("CrossEntropyLoss", "cross_entropy", ("weight", None), ("ignore_index", -100), ("label_smoothing", 0.0),
                         doc="Cross-entropy of logits (N, C, ...) and class indices (N, ...) or probabilities.")
NLLLoss = _loss("NLLLoss", "nll_loss", ("weight", None), ("ignore_index", -100), doc="Negative log likelihood of log probabilities (N, C, ...).")
MSELoss = _loss("MSELoss", "mse_loss", doc="Mean squared error.")
L1Loss = _loss("L1Loss", "l1_loss", doc="Mean absolute error.")
SmoothL1Loss = _loss("SmoothL1Loss", "smooth_l1_loss", ("beta", 1.0), doc="Squared error below ``beta``, absolute error above.")
HuberLoss = _loss("HuberLoss", "huber_loss", ("delta", 1.0), doc="Squared error below ``delta``, ``delta`` times absolute error above.")
BCELoss = _loss("BCELoss", "binary_cross_entropy", ("weight", None), doc="Binary cross-entropy of probabilities.")
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", ("weight", None), ("pos_weight", None),
                          doc="Binary cross-entropy of logits.")
KLDivLoss = _loss("KLDivLoss", "kl_div", ("log_target", False), doc="Kullback-Leibler divergence of log probabilities.")
MarginRankingLoss = _loss("MarginRankingLoss", "margin_ranking_loss", ("margin", 0.0), doc="Hinge loss of a ranking of two inputs.")
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", "hinge_embedding_loss", ("margin", 1.0), doc="Hinge loss of distances with labels 1 and -1.")
SoftMarginLoss = _loss("SoftMarginLoss", "soft_margin_loss", doc="Logistic loss with labels 1 and -1.")
CosineEmbeddingLoss = _loss("CosineEmbeddingLoss", "cosine_embedding_loss", ("margin", 0.0), doc="Loss of the cosine of two inputs.")
TripletMarginLoss = _loss("TripletMarginLoss", "triplet_margin_loss", ("margin", 1.0), ("p", 2.0), ("eps", 1e-6), ("swap", False),
                          doc="Hinge loss of the distances to a positive and a negative example.")
GaussianNLLLoss = _loss("GaussianNLLLoss", "gaussian_nll_loss", ("full", False), ("eps", 1e-6), doc="Negative log likelihood of normal distributions.")
PoissonNLLLoss = _loss("PoissonNLLLoss", "poisson_nll_loss", ("log_input", True), ("full", False), ("eps", 1e-8),
                       doc="Negative log likelihood of Poisson distributions.")
