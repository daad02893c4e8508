"""A small training in mixed precision, the same for PyTorch and pyborch."""
import math

# PyTorch 2.13 on the CPU: losses, log2 of the scale after each step, the first weights, Adam's step count
FROZEN = {
    "SGD": ([1.0751, 1.7315, 1.1218, 1.18, 0.9113, 1.5137, 1.3257, math.nan, 1.4086, 1.0427, 1.3865, 1.2647],
        [11, 11, 12, 12, 12, 13, 13, 12, 12, 12, 13, 13], [-0.685, -0.555, 0.711, 0.269, -0.95, -0.073], None),
    "Adam": ([1.0751, 1.7736, 1.2462, 1.0151, 1.0979, 1.4349, 1.1091, math.nan, 1.3253, 1.2125, 1.011, 1.2709],
        [11, 11, 12, 12, 12, 13, 13, 12, 12, 12, 13, 13], [-0.863, -0.46, 0.773, 0.22, -1.007, 0.068], 11.0),
    "AdamW": ([1.0751, 1.7726, 1.2467, 1.0155, 1.0966, 1.4353, 1.1095, math.nan, 1.3252, 1.2125, 1.0108, 1.271],
        [11, 11, 12, 12, 12, 13, 13, 12, 12, 12, 13, 13], [-0.858, -0.458, 0.769, 0.219, -1.001, 0.066], 11.0),
    "RMSprop": ([1.0751, 4.6311, 2.4818, 1.1032, 1.5534, 1.617, 1.2698, math.nan, 1.1483, 1.1521, 1.4088, 1.3508],
        [11, 11, 12, 12, 12, 13, 13, 12, 12, 12, 13, 13], [-2.019, 0.477, 0.462, -0.352, -2.085, 0.746], 11.0),
}


def train(torch, device, optimizer, compiled=False, steps=12):
    """(losses, scales after each step, final weights, Adam's step count): the eighth batch is far too large for float16."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
    with torch.no_grad():
        for k, p in enumerate(model.parameters()):
            values = [math.sin(1.7 * i + k) for i in range(p.numel())]
            p.copy_(torch.tensor(values).reshape(p.shape))
    model.to(device)
    options = {"lr": 0.1, "momentum": 0.9} if optimizer == "SGD" else {"lr": 0.05}
    optimizer = getattr(torch.optim, optimizer)(model.parameters(), **options)
    scaler = torch.amp.GradScaler(device, init_scale=2.0**11, growth_interval=3)

    def step(x, y):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()
    run = torch.compile(step) if compiled else step
    losses, scales = [], []
    for k in range(steps):
        size = 1.0 if k != 7 else 1e6
        x = torch.tensor([math.cos(0.9 * i + k) * size for i in range(24)], device=device).reshape(6, 4)
        y = torch.tensor([(i * i + k) % 3 for i in range(6)], device=device)
        losses.append(run(x, y).item())
        scales.append(scaler.get_scale())
    state = optimizer.state_dict()["state"][0]
    return losses, scales, model[3].weight.detach().reshape(-1).tolist(), float(state["step"]) if "step" in state else None


def differences(optimizer, found):
    """What is not as PyTorch has it; float16 leaves three digits."""
    losses, scales, weights, steps = found
    wanted = FROZEN[optimizer]
    near = [abs(a - b) < 5e-3 or a != a and b != b for a, b in zip(wanted[0] + wanted[2], losses + weights)]
    problems = [] if all(near) else [f"losses {losses}, weights {weights[:6]}"]
    problems += [] if [math.log2(s) for s in scales] == wanted[1] else [f"scales {scales}"]
    return problems + ([] if steps == wanted[3] else [f"{steps} steps"])
