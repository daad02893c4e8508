"""Compiled steps against eager ones on WebGPU: python run_compiled.py [samples [first] | models | graphs COUNT SEED] [hardware].

``hardware``: with the kernels that hardware adapters get, on whatever adapter there is."""
import pathlib
import random
import sys

import samples

import pyborch as torch
import pyborch.devices
from pyborch import nn
from pyborch.compiler import wide
from pyborch.nn import functional as F
from pyborch.ops import registry

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import models  # noqa: E402

SKIPPED = {"empty", "empty_like", "new_empty",  # memory as it comes
           "copy_"}  # changes its argument, which is made once here


def flat(t):
    return [float(v) for v in t.detach().reshape(-1).tolist()]


def differs(a, b, tolerance):
    """What is different between two tensors, as text; empty where nothing is."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{b.dtype} {tuple(b.shape)} instead of {a.dtype} {tuple(a.shape)}"
    for i, (x, y) in enumerate(zip(flat(a), flat(b))):
        if not (x == y or x != x and y != y or abs(x - y) <= tolerance * max(1.0, abs(x))):
            return f"{y} instead of {x} at {i}"
    return ""


def tensors(result):
    return [t for t in (result if isinstance(result, (tuple, list)) else [result]) if hasattr(t, "grad_fn")]


def sample_step(runner, record, name, k, s):
    """(step, leaves): the step runs the sample, forward and backward, and returns its results."""
    args, kwargs, leaves = runner.arguments(name, k, s)
    cotangents = []

    def step():
        for leaf in leaves:
            leaf.grad = None
        found = tensors(record.function(*args, **kwargs))
        if not cotangents:
            cotangents.extend(runner.cotangent(t) if t.requires_grad else None for t in found)
        parts = [(t * c).sum() for t, c in zip(found, cotangents) if c is not None]
        if parts and leaves:
            sum(parts[1:], parts[0]).backward()
        return [t.detach() for t in found]
    return step, leaves


def check_samples(first):
    runner, failures, count, refused = samples.Runner(torch, registry.T, "webgpu"), [], 0, 0
    for name, record in registry.RECORDS.items():
        if name in SKIPPED:
            continue
        for k, s in enumerate(record.samples[:1] if first else record.samples):
            if not samples.fits(s, registry.T, "webgpu"):
                continue
            step, leaves = sample_step(runner, record, name, k, s)
            torch.manual_seed(5)
            try:
                wanted = step() + [leaf.grad for leaf in leaves]
            except Exception:  # noqa: BLE001 an error is not for a replay; the samples' own test has it
                continue
            step, leaves = sample_step(runner, record, name, k, s)
            step()
            compiled = torch.compile(step, fullgraph=True, dynamic=bool(count % 2))  # every other one with sizes as parameters
            try:
                for _ in range(2):
                    torch.manual_seed(5)
                    found = compiled() + [leaf.grad for leaf in leaves]
                    backend.synchronize()  # until then the second call would be eager
            except torch.CaptureError as error:
                refused += "reading a value" in str(error)
                if "reading a value" not in str(error):
                    failures.append(f"{name} {k}: {error}")
                continue
            except Exception as error:  # noqa: BLE001
                failures.append(f"{name} {k}: {type(error).__name__} {str(error)[:600]}")
                continue
            count += 1
            for n, (a, b) in enumerate(zip(wanted, found)):
                problem = "" if a is None and b is None else "no gradient" if a is None or b is None else differs(a, b, 1e-2 if a.dtype is torch.float16 else 1e-5)
                if problem:
                    failures.append(f"{name} {k}, result {n}: {problem}")
                    break
    print(f"{count} samples compiled, {refused} refused because they read values")
    return failures


def losses(step, batches):
    return [step(*batch).item() for batch in batches]


def images(n, size):
    return [(torch.randn(n, 3, size, size), torch.randint(0, 10, (n,))) for _ in range(2)] * 10


def resnet():
    model = models.ResNet18(width=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    return models.training_step(model, optimizer), images(4, 16), model


def vit():
    model = models.ViT(size=16, patch=4, dim=24, depth=2, heads=3, classes=10)
    return models.training_step(model, torch.optim.AdamW(model.parameters(), lr=1e-3)), images(4, 16), model


def gpt():
    model = models.GPT(vocabulary=11, length=12, dim=24, depth=6, heads=3)
    tokens = [torch.randint(0, 11, (3, 13)) for _ in range(20)]
    loss = lambda logits, y: F.cross_entropy(logits.reshape(-1, 11), y.reshape(-1))  # noqa: E731
    batches = [(t[:, :-1].contiguous(), t[:, 1:].contiguous()) for t in tokens]
    return models.training_step(model, torch.optim.Adam(model.parameters(), lr=1e-3), loss), batches, model


def vae():
    encoder, decoder = nn.Linear(12, 8), nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 12))
    model = nn.ModuleList([encoder, decoder])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step(x):
        optimizer.zero_grad()
        mean, spread = encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * spread).exp()
        loss = F.mse_loss(decoder(z), x, reduction="sum") - 0.5 * (1 + spread - mean * mean - spread.exp()).sum()
        loss.backward()
        optimizer.step()
        return loss
    step.after = schedule.step
    return step, [(torch.randn(6, 12),) for _ in range(20)], model


def gan():
    maker, judge = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 5)), nn.Sequential(nn.Linear(5, 16), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(16, 1))
    model = nn.ModuleList([maker, judge])
    first, second = torch.optim.Adam(judge.parameters(), lr=2e-3, betas=(0.5, 0.9)), torch.optim.Adam(maker.parameters(), lr=2e-3, betas=(0.5, 0.9))
    score = F.binary_cross_entropy_with_logits

    def step(real):
        ones, zeros = torch.ones(real.shape[0], 1), torch.zeros(real.shape[0], 1)
        fake = maker(torch.randn(real.shape[0], 3))
        first.zero_grad()
        loss = score(judge(real), ones) + score(judge(fake.detach()), zeros)
        loss.backward()
        first.step()
        second.zero_grad()
        (score(judge(fake), ones) / 2).backward()
        (score(judge(maker(torch.randn(real.shape[0], 3))), ones) / 2).backward()
        second.step()
        return loss
    return step, [(torch.randn(6, 5),) for _ in range(20)], model


DISPATCHES = {"resnet": 145, "vit": 110, "gpt": 300, "vae": 25, "gan": 70}  # what fusing must not lose


def run_model(make, compiled, dynamic=None, **options):
    """(losses, state after them) of twenty steps."""
    torch.manual_seed(3)
    step, batches, model = make()
    run = torch.compile(step, options=options, dynamic=dynamic) if compiled else step
    found = []
    for batch in batches:
        found.append(run(*batch).item())
        getattr(step, "after", int)()
        if len(found) < 5:
            backend.synchronize()  # replays from the second or third step on
    if compiled:
        program = next(iter(run._programs.values()))[-1]
        run_model.dispatches = program.dispatches
        print(f"{make.__name__}{options or ''}: {program.dispatches} dispatches for {len(program.calls)} op calls, {program.shared_bytes >> 10} KB")
    return found, model.state_dict()


def check_models():
    failures = []
    runs = [(make, {}) for make in (resnet, vit, gpt, vae, gan)]
    for make, options in [*runs, (resnet, {"recompute": True}), (resnet, {"dynamic": True}), (gpt, {"recompute": True})]:
        (wanted, state), (found, own) = run_model(make, False), run_model(make, True, **options)
        worst = max(abs(a - b) / abs(a) for a, b in zip(wanted, found))
        print(f"{make.__name__}: losses {wanted[0]:.5f} .. {wanted[-1]:.5f}, worst relative difference {worst:.2e}")
        if not options and run_model.dispatches > DISPATCHES[make.__name__]:
            failures.append(f"{make.__name__}: {run_model.dispatches} dispatches, not {DISPATCHES[make.__name__]}")
        if not worst < 1e-5:
            failures.append(f"{make.__name__}: losses {found} instead of {wanted}")
        # loose: where a gradient is nothing but rounding (a key's bias), Adam scales it up to steps of its learning rate
        failures += [f"{make.__name__}.{k}: {p}" for k in state if (p := differs(state[k], own[k], 1e-2))]
    return failures


def check_subsets():
    """Steps that update different parts of the same parameters, in turn: each is recorded once, and both train as eager ones do."""
    def train(compiled):
        torch.manual_seed(2)
        model = nn.Sequential(*[nn.Linear(6, 6) for _ in range(4)])
        steps = []
        for parameters in (list(model.parameters()), list(model[2:].parameters()), list(model[:1].parameters())):
            optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.5)

            def step(x, optimizer=optimizer):
                model.zero_grad()
                loss = model(x).square().mean()
                loss.backward()
                optimizer.step()
                return loss
            steps.append(torch.compile(step) if compiled else step)
        found = [step(torch.full((3, 6), 0.1 * k)).item() for k in range(12) for step in steps]
        return found, sum(len(step.programs) for step in steps) if compiled else 0
    (wanted, _), (found, runs) = train(False), train(True)
    worst = max(abs(a - b) for a, b in zip(wanted, found))
    return [] if worst < 1e-5 and runs <= 9 else [f"subsets: {runs} programs, worst difference {worst}"]


def check_stacked():
    """Ten steps in one call: scheduled rates aside, what ten calls do, noise included."""
    def train(k):
        torch.manual_seed(4)
        model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 3))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        step = torch.compile(models.training_step(model, optimizer))
        x, y = torch.randn(24, 5, 6), torch.randint(0, 3, (24, 5))
        found = [step.run(k, x[i:i + k], y[i:i + k]) for i in range(0, 24, k)]
        return flat(torch.cat(found)) + flat(model[0].weight), optimizer.state_dict()["state"][0]["step"]
    (wanted, steps), (found, own) = train(1), train(8)
    worst = max(abs(a - b) for a, b in zip(wanted, found))
    print(f"eight steps in one call: worst difference {worst:.1e}")
    return [] if worst < 1e-5 and float(steps) == float(own) == 24 else [f"stacked: {found} instead of {wanted}, {own} steps instead of {steps}"]


def check_graphs(count, seed):
    """Random graphs of 3 to 30 ops with in-place writes, views and reductions. All ops are continuous: rounding decides nothing."""
    failures = []
    for n in range(count):
        made = random.Random(seed + n)
        torch.manual_seed(seed + n)
        step, arguments = random_graph(made)
        problem = ""
        try:
            eager = step(*[a.clone() for a in arguments])
            shaken = step(*[a * (1 + 1e-6 * torch.randn_like(a)) for a in arguments])
            compiled = torch.compile(step, dynamic=bool(n % 2))
            for _ in range(2):
                found = compiled(*[a.clone() for a in arguments])
                backend.synchronize()
            for a, b, c in zip(eager, found, shaken):  # what a change in the last digits does to a result bounds what rounding may do
                problem = problem or differs(a, b, 1e-4 + 20 * (a - c).abs().max().item())
        except RuntimeError as error:
            problem = f"{type(error).__name__} {str(error)[:900]}"
        if problem:
            failures.append(f"graph {seed + n}: {problem}")
        if len(failures) > 4:
            break
    print(f"{count} random graphs")
    return failures


def random_graph(made):
    """(step, arguments)."""
    shape = (made.randint(1, 5), made.randint(2, 40), made.randint(1, 6))
    moves = [(made.randrange(17), made.random(), made.random(), made.random()) for _ in range(made.randint(3, 30))]

    def step(a, b):
        live = [a, b, a.mean((0, 2), keepdim=True)]
        for kind, p, q, r in moves:
            x, y = live[int(p * len(live))], live[int(q * len(live))]
            live.append(_move(kind, x, y, r, shape))
            live = [t for t in live if tuple(t.shape) != ()][-8:] + [live[-1].mean()]
            live[-1] = live[-1].expand(shape)
        return [t.clone() for t in live]
    return step, [torch.randn(*shape), torch.randn(*shape)]


def _move(kind, x, y, r, shape):
    x, y = x.expand(shape) if kind > 12 else x, y
    if kind == 0:
        return x + y
    if kind == 1:
        return torch.tanh(x) * y
    if kind == 2:
        return torch.where(x > 0, x, x * 0.5) + y
    if kind == 3:
        return x.sigmoid()
    if kind == 4:
        return x.sum(int(r * 3), keepdim=True) * 0.1
    if kind == 5:
        return x.amax(int(r * 3), keepdim=True) - y
    if kind == 6:
        return (x + 0).mul_(0.5).add_(y.expand(shape) if x.shape == shape else 1.0)
    if kind == 7:
        return x.softmax(int(r * 3))
    if kind == 8:
        return x.var((0, 2), unbiased=False, keepdim=True) + y
    if kind == 9:
        return x.transpose(0, 2).contiguous().transpose(0, 2) + y
    if kind == 10:
        return (x - x.mean(1, keepdim=True)) * (y.square().mean(1, keepdim=True) + 0.1).rsqrt()
    if kind == 11:
        return x.expand(shape).reshape(shape[0], -1).mean(1).reshape(-1, 1, 1) + y * 0.5
    if kind == 12:
        return x.clamp(-0.5, 0.5) + y
    if kind == 13:
        z = x.clone()
        z[:, : shape[1] // 2] *= 0.5
        return z
    if kind == 14:
        return (x.reshape(-1, shape[2]) @ y.expand(shape).reshape(-1, shape[2]).t()).tanh().mean(1).reshape(shape[0], shape[1], 1)
    if kind == 15:
        return F.layer_norm(x, shape[1:], eps=0.1)
    return F.relu(x.flip(1)) + y


torch.set_default_device("webgpu")
backend = pyborch.devices.backend()
if "hardware" in sys.argv:
    backend.software, wide.LEAST = False, 64
which = sys.argv[1] if len(sys.argv) > 1 else "samples"
if which == "samples":
    problems = check_samples("first" in sys.argv)
elif which == "models":
    problems = check_models() + check_subsets() + check_stacked()
else:
    problems = check_graphs(int(sys.argv[2]), int(sys.argv[3]))
print(f"on {backend.name}")
print(*problems, sep="\n")
sys.exit(1 if problems else 0)
