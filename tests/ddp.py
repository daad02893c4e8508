"""Two processes of PyTorch (gloo) go on from a checkpoint of pyborch, and pyborch from theirs:

python tests/ddp.py start FILE; .cache/torch/bin/python -m torch.distributed.run --nproc-per-node 2 tests/ddp.py train FILE; python tests/ddp.py back FILE

FILE is a .safetensors, which both read and write.
"""
import sys

what, path = sys.argv[1:]
if what == "train":
    import torch
    from safetensors.torch import load_file, save_file
else:
    import pyborch
    pyborch.set_default_device("cpu")
    pyborch.install_as_torch()
    import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
x = torch.arange(256.0).reshape(64, 4).sin()
y = x.sum(1, keepdim=True).tanh()


def fit(net, x, y, steps=30):
    """The loss before and after some steps."""
    optimizer, losses = torch.optim.Adam(net.parameters(), lr=0.01), []
    for _ in range(steps):
        loss = torch.nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[0], losses[-1]


if what == "train":
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    model.load_state_dict(load_file(path))
    first, last = fit(torch.nn.parallel.DistributedDataParallel(model), x[rank::2], y[rank::2])
    if rank == 0:
        save_file(model.state_dict(), path)
    torch.distributed.destroy_process_group()
else:
    if what == "back":
        model.load_state_dict(torch.load(path))
    first, last = fit(model, x, y)
    torch.save(model.state_dict(), path)
print(f"{what}: loss {first:.5f} to {last:.5f}")
