"""DataLoader: batches of a dataset. Everything is loaded in the page: there are no worker processes in a browser."""
from __future__ import annotations

import warnings

from .. import dtypes
from ..ops import registry
from .collate import default_collate, default_convert
from .dataset import IterableDataset, Subset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader:
    """Iterates over ``dataset`` in batches of ``batch_size``, shuffled by ``generator`` (the default one if None) with ``shuffle``.

    ``batch_size=None`` gives single samples. ``num_workers > 0`` warns and loads in the page. Batches of a TensorDataset (and of
    Subsets of one) are taken on its device, one operation per tensor.
    """

    _made = False

    def __class_getitem__(cls, item):
        return cls

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers: int = 0, collate_fn=None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn=None, multiprocessing_context=None,
                 generator=None, *, prefetch_factor=None, persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if isinstance(dataset, IterableDataset):
            _check_stream(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.in_order = in_order
        self.batch_size = batch_size
        self.drop_last = drop_last
        if sampler is None:
            if isinstance(dataset, IterableDataset):
                sampler = _Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.collate_fn = collate_fn or (default_collate if batch_sampler is not None else default_convert)
        self._made = True

    def __setattr__(self, name, value):
        if self._made and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        object.__setattr__(self, name, value)

    def __len__(self):
        if isinstance(self.dataset, IterableDataset):
            samples = len(self.dataset)
            if self.batch_size is None:
                return samples
            return samples // self.batch_size if self.drop_last else -(-samples // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self):
        if isinstance(self.dataset, IterableDataset):
            return self._stream()
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[i]) for i in self.sampler)
        rows = _tensor_rows(self.dataset)
        if rows is not None and self.collate_fn is default_collate and type(self.batch_sampler) is BatchSampler:
            return self._rows(*rows)
        return (self.collate_fn(self._fetch(indices)) for indices in self.batch_sampler)

    def _fetch(self, indices):
        many = getattr(self.dataset, "__getitems__", None)
        return many(indices) if many is not None else [self.dataset[i] for i in indices]

    def _rows(self, tensors, chosen):
        """Batches of tensors in memory: the order goes to their device once, each batch is one index_select per tensor."""
        order = list(self.sampler)
        if chosen is not None:
            order = [chosen[i] for i in order]
        size = self.batch_sampler.batch_size
        end = len(order) - len(order) % size if self.batch_sampler.drop_last else len(order)
        on_device = {}
        for t in tensors:
            if t.device not in on_device:
                on_device[t.device] = registry.namespace("torch")["tensor"](order, dtype=dtypes.int64, device=t.device)
        for start in range(0, end, size):
            yield [t.index_select(0, on_device[t.device][start:start + size]) for t in tensors]

    def _stream(self):
        if self.batch_sampler is None:
            yield from map(self.collate_fn, self.dataset)
            return
        samples = iter(self.dataset)
        for indices in self.batch_sampler:
            batch = [sample for _, sample in zip(indices, samples)]
            if not batch or (self.drop_last and len(batch) < len(indices)):
                return
            yield self.collate_fn(batch)


def get_worker_info():
    """None: data is loaded in the page, never in a worker process."""
    return None


class _Endless:
    """The sampler of a stream: as many indices as anyone asks for."""

    def __iter__(self):
        while True:
            yield None


def _tensor_rows(dataset):
    """(tensors, indices or None) where the dataset is a TensorDataset or a Subset of one, else None."""
    chosen = None
    while type(dataset) is Subset:
        indices = dataset.indices.tolist() if hasattr(dataset.indices, "tolist") else dataset.indices
        chosen = indices if chosen is None else [indices[i] for i in chosen]
        dataset = dataset.dataset
    return (dataset.tensors, chosen) if type(dataset) is TensorDataset else None


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable multiprocessing, "
                         "otherwise set prefetch_factor to None.")
    if num_workers == 0 and persistent_workers:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if num_workers > 0:
        warnings.warn(f"DataLoader: num_workers={num_workers}, but there are no worker processes here; the data is loaded in the page",
                      stacklevel=3)


def _check_stream(shuffle, sampler, batch_sampler):
    given = {"shuffle": shuffle if shuffle not in (None, False) else None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
