"""Optimizers and learning-rate schedules (torch.optim)."""
from . import lr_scheduler
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import Adadelta, Adagrad, RMSprop, Rprop
from .asgd import ASGD
from .lbfgs import LBFGS
from .matrices import Adafactor, Muon
from .optimizer import Optimizer, swap_in_optimizer_params_and_state
from .sgd import SGD

__all__ = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD",
           "lr_scheduler", "swap_in_optimizer_params_and_state"]


def __getattr__(name):
    if name == "swa_utils":       # needs pyborch.nn: imported when first used
        import importlib
        return importlib.import_module(".swa_utils", __name__)
    from ..errors import absent
    raise absent(__name__, name, __all__)
