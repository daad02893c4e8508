"""Losses as modules (torch.nn): each calls the function of its name in nn.functional."""
from __future__ import annotations

import math

from ..ops.losses_legacy import reduction_of
from . import functional as F
from .distance import PairwiseDistance
from .linear import Linear
from .module import Module


class _Loss(Module):
    """A function of nn.functional with options kept as attributes; tensors among them are buffers."""

    function = ""
    options: tuple = ()

    def __init__(self, *args, size_average=None, reduce=None, reduction="mean", **kwargs):
        super().__init__()
        self.reduction = reduction if size_average is None and reduce is None else reduction_of(size_average, reduce)
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
MultiMarginLoss = _loss("MultiMarginLoss", "multi_margin_loss", ("p", 1), ("margin", 1.0), ("weight", None), doc="Hinge losses of a class beside all others.")
MultiLabelMarginLoss = _loss("MultiLabelMarginLoss", "multilabel_margin_loss", doc="Hinge losses of several classes beside all others.")
MultiLabelSoftMarginLoss = _loss("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", ("weight", None), doc="Binary cross-entropy of several labels.")


class TripletMarginWithDistanceLoss(Module):
    """TripletMarginLoss with a distance of one's own."""

    def __init__(self, *, distance_function=None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"):
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"{reduction} is not a valid value for reduction")
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.reduction = reduction
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
                                                   reduction=self.reduction)


class LinearCrossEntropyLoss(Module):
    """Cross-entropy of a linear layer's results, computed by parts of the batch where ``options`` says so."""

    def __init__(self, in_features: int, num_classes: int, *, out_features=(), bias: bool = False, device=None, dtype=None, reduction: str = "mean",
                 weight=None, ignore_index=None, label_smoothing: float = 0.0, options=None):
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0.0 <= label_smoothing <= 1.0:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__()
        self.register_buffer("weight", weight)
        self.num_classes, self.out_features, self.reduction, self.ignore_index = num_classes, out_features, reduction, ignore_index
        self.label_smoothing, self.options = label_smoothing, options
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)

    def forward(self, input, target):
        shape, linear = (self.num_classes, *self.out_features), self.linear
        bias = None if linear.bias is None else linear.bias.reshape(shape)
        return F.linear_cross_entropy(input, linear.weight.reshape((*shape, linear.in_features)), target, linear_bias=bias, weight=self.weight,
                                      reduction=self.reduction, ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self):
        return (f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, bias={self.linear.bias is not None}, "
                f"reduction={self.reduction}, ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}")
