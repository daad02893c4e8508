"""Numbers that are the same in every framework: weights and data of these scripts, since generators of random numbers differ."""
import math

import torch


def draws(seed, count):
    """``count`` numbers in [0, 1) from a linear congruential generator."""
    state, found = (seed * 2654435761 + 12345) % 2 ** 32, []
    for _ in range(count):
        state = (1664525 * state + 1013904223) % 2 ** 32
        found.append((state >> 8) / 2 ** 24)
    return found


def uniform(seed, *shape, low=-1.0, high=1.0):
    """A tensor of numbers in [low, high)."""
    return torch.tensor([low + (high - low) * v for v in draws(seed, math.prod(shape))]).reshape(shape)


def normal(seed, *shape):
    """A tensor of numbers as from the standard normal distribution (Box and Muller)."""
    v = draws(seed, 2 * math.prod(shape))
    return torch.tensor([math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b) for a, b in zip(v[::2], v[1::2])]).reshape(shape)


def integers(seed, high, *shape):
    """A tensor of integers in [0, high)."""
    return torch.tensor([int(v * high) for v in draws(seed, math.prod(shape))]).reshape(shape)


def fill(module, seed=1):
    """Give a module's matrices such weights, scaled by what goes in, and set its biases to zero; returns the module."""
    with torch.no_grad():
        for i, (name, p) in enumerate(module.named_parameters()):
            if p.dim() > 1:
                p.copy_(uniform(seed + i, *p.shape) * (p.numel() // p.shape[0]) ** -0.5)
            elif "bias" in name:
                p.zero_()
    return module
