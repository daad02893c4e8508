"""Other names of functions: PyTorch's aliases, and in-place functions in torch and torch.nn.functional."""
from __future__ import annotations

from .registry import FUNCTIONS, alias, in_place

ALIASES = {"subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg", "absolute": "abs", "clip": "clamp", "greater": "gt",
           "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne", "fix": "trunc", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
           "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "sgn": "sign"}
SPECIAL = {**{name: name for name in ("exp2", "expm1", "log1p", "sinc", "round", "softmax", "log_softmax", "logsumexp")},
           "expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma", "multigammaln": "mvlgamma", "gammainc": "igamma", "gammaincc": "igammac"}
IN_PLACE = """abs acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil clamp clamp_max clamp_min clip cos cosh deg2rad erf erfc exp
    exp2 expm1 fill fix floor frac gcd i0 lcm ldexp log log10 log1p log2 logit nan_to_num neg negative rad2deg reciprocal relu round rsqrt sigmoid sin sinc sinh
    sqrt square tan tanh trunc xlogy zero"""

for _name, _target in ALIASES.items():
    alias(_name, _target)
for _name, _target in SPECIAL.items():
    alias(_name, _target, "special")
for _name in "logit mvlgamma".split():
    FUNCTIONS["Tensor"][_name + "_"] = in_place(FUNCTIONS["Tensor"][_name])
for _name in IN_PLACE.split():
    FUNCTIONS["torch"][_name + "_"] = FUNCTIONS["Tensor"][_name + "_"]
