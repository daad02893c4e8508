"""Optimizers and schedules run the same way with PyTorch and pyborch: what they give must be the same numbers."""
OPTIMIZERS = {
    "SGD": [{"lr": 0.02}, {"lr": 0.02, "momentum": 0.9}, {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
            {"lr": 0.02, "momentum": 0.8, "dampening": 0.3},
            {"lr": 0.005, "maximize": True}],
    "Adam": [{"lr": 0.05}, {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.95)}, {"lr": 0.05, "amsgrad": True}, {"lr": 0.05, "maximize": True}],
    "AdamW": [{"lr": 0.05}, {"lr": 0.05, "weight_decay": 0.3, "eps": 1e-6}, {"lr": 0.05, "amsgrad": True}],
    "RMSprop": [{"lr": 0.02}, {"lr": 0.02, "centered": True}, {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.05}],
    "Adagrad": [{"lr": 0.1}, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.02}],
    "Adadelta": [{}, {"rho": 0.8, "lr": 0.5}],
    "Adamax": [{"lr": 0.05}],
    "NAdam": [{"lr": 0.05}, {"lr": 0.05, "weight_decay": 0.1}],
    "RAdam": [{"lr": 0.05}],
    "ASGD": [{"lr": 0.02, "t0": 3, "lambd": 0.1}],
    "Adafactor": [{"lr": 0.05, "weight_decay": 0.1}],
    "Rprop": [{"lr": 0.05}],
}
SCHEDULES = {
    "StepLR": [{"step_size": 3, "gamma": 0.5}], "MultiStepLR": [{"milestones": [2, 5, 9], "gamma": 0.3}], "ExponentialLR": [{"gamma": 0.9}],
    "CosineAnnealingLR": [{"T_max": 8, "eta_min": 0.01}], "CosineAnnealingWarmRestarts": [{"T_0": 3, "T_mult": 2}],
    "LinearLR": [{"start_factor": 0.25, "total_iters": 6}], "PolynomialLR": [{"total_iters": 7, "power": 2.0}],
    "OneCycleLR": [{"max_lr": 1.0, "total_steps": 13}, {"max_lr": 0.5, "epochs": 4, "steps_per_epoch": 4, "anneal_strategy": "linear", "three_phase": True}],
    "ConstantLR": [{"factor": 0.5, "total_iters": 4}], "LambdaLR": [{"lr_lambda": lambda epoch: 0.9 ** epoch}],
    "MultiplicativeLR": [{"lr_lambda": lambda epoch: 0.95}], "swa_utils.SWALR": [{"swa_lr": 0.1, "anneal_epochs": 5}, {"swa_lr": 0.1, "anneal_strategy": "linear"}],
    "CyclicLR": [{"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 4, "mode": "triangular2"}],
}
STEPS = 8


def weights(torch, name, options, compiled=False):
    """Two parameters after some steps down a bumpy hill."""
    a = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    b = torch.tensor([[0.3, 0.7]], requires_grad=True)
    optimizer = getattr(torch.optim, name)([a, b], **options)

    def step():
        optimizer.zero_grad()
        loss = (a * a).sum() * (b * b).sum() + (a.sin() * 2).sum() + (b - 1).pow(4).sum()
        loss.backward()
        optimizer.step()
        return loss
    step = torch.compile(step) if compiled else step
    for _ in range(STEPS):
        step()
    return a.tolist() + b.reshape(-1).tolist()


def rates(torch, name, options):
    """The learning rates of a schedule over some steps."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.8, momentum=0.5)
    schedule = (torch.optim.swa_utils.SWALR if name == "swa_utils.SWALR" else getattr(torch.optim.lr_scheduler, name))(optimizer, **options)
    found = []
    for _ in range(12):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def matrix(torch, compiled=False):
    """A weight after some steps of Muon."""
    w = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]], requires_grad=True)
    optimizer = torch.optim.Muon([w], lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = (w @ w.t()).sin().sum() + (w - 1).pow(4).sum()
        loss.backward()
        optimizer.step()
        return loss
    step = torch.compile(step) if compiled else step
    for _ in range(STEPS):
        step()
    return w.reshape(-1).tolist()


def valley(torch):
    """Where LBFGS is after ten iterations in Rosenbrock's valley."""
    x = torch.tensor([-1.2, 1.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=10)

    def closure():
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        return loss
    optimizer.step(closure)
    return x.tolist()
