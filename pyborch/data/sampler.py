"""Samplers: in which order a DataLoader visits its dataset."""
from __future__ import annotations

from itertools import accumulate


def host_random(generator=None):
    """A ``random.Random`` seeded from ``generator`` (or the default one), which moves on by one draw.

    Orders are drawn on the host, so that a shuffle needs no read from the device and is the same on every device.
    """
    from random import Random

    from ..random import host_seed
    return Random(host_seed(generator))


def permutation(n: int, generator=None) -> list:
    """0 .. n-1 in random order."""
    draw = host_random(generator).random
    return sorted(range(n), key=[draw() for _ in range(n)].__getitem__)


class Sampler:
    """Base of samplers: ``__iter__()`` gives indices (or lists of them)."""

    def __class_getitem__(cls, item):
        return cls

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler):
    """0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


def _check_count(num_samples):
    if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
        raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")


class RandomSampler(Sampler):
    """All indices in random order, or ``num_samples`` draws with ``replacement``."""

    def __init__(self, data_source, replacement: bool = False, num_samples=None, generator=None):
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_count(self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, wanted = len(self.data_source), self.num_samples
        if self.replacement:
            draw = host_random(self.generator).random
            yield from (int(draw() * n) for _ in range(wanted))
            return
        while wanted > 0:
            yield from permutation(n, self.generator)[:wanted]
            wanted -= n

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in random order."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        return iter([self.indices[i] for i in permutation(len(self.indices), self.generator)])

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """``num_samples`` indices with probabilities in proportion to ``weights`` (numbers; a tensor is read)."""

    def __init__(self, weights, num_samples: int, replacement: bool = True, generator=None):
        _check_count(num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = weights.tolist() if hasattr(weights, "tolist") else list(weights)
        if any(hasattr(w, "__len__") for w in self.weights):
            shape = getattr(weights, "shape", (len(self.weights), len(self.weights[0])))
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(shape)}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        source = host_random(self.generator)
        if self.replacement:
            return iter(source.choices(range(len(self.weights)), cum_weights=list(accumulate(self.weights)), k=self.num_samples))
        # the largest u^(1/w) are a weighted draw without replacement (Efraimidis & Spirakis 2006)
        keys = [source.random() ** (1 / w) if w > 0 else -1.0 for w in self.weights]
        return iter(sorted(range(len(keys)), key=lambda i: -keys[i])[:self.num_samples])

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of ``batch_size`` indices of another sampler; ``drop_last`` leaves out a last shorter one."""

    def __init__(self, sampler, batch_size: int, drop_last: bool):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full + (rest > 0 and not self.drop_last)
