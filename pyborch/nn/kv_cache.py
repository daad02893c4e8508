"""Keys and values of many sequences in pages of one memory, as in decoding with a language model (Kwon et al. 2023)."""
from __future__ import annotations

from .. import dtypes
from ..autograd import apply, no_grad, state
from ..ops.registry import FUNCTIONS, OPS


class PagedKVCache:
    """``pages`` pages of ``page_size`` tokens, each with a key and a value (kv_heads, head_dim), which sequences take as they grow.

    One cache serves one layer of a network. A sequence is any hashable value; its first append() begins it. ``dtype`` is float32 (default) or
    float16. Nothing here has gradients, and a compiled function refuses append() and attend(): which pages they use changes at every call.
    """

    def __init__(self, pages, page_size, kv_heads, head_dim, dtype=None, device=None):
        if min(pages, page_size, kv_heads, head_dim) < 1:
            raise ValueError(f"PagedKVCache: pages, page_size, kv_heads and head_dim are at least 1, got {(pages, page_size, kv_heads, head_dim)}")
        if (dtype or dtypes.get_default_dtype()).kind != "f":
            raise TypeError(f"PagedKVCache: expected a floating point dtype, got {dtype}")
        zeros = FUNCTIONS["torch"]["zeros"]
        shape = pages, kv_heads, page_size, head_dim
        self.keys, self.values = zeros(shape, dtype=dtype, device=device), zeros(shape, dtype=dtype, device=device)
        self.page_size, self.kv_heads, self.head_dim = page_size, kv_heads, head_dim
        self.free_pages = list(reversed(range(pages)))
        self._pages: dict = {}      # sequence -> its pages, in order
        self._lengths: dict = {}
        self._table: tuple = ((), None)     # what the last table was made of, and that table

    def __repr__(self):
        pages, heads, size, dim = self.keys.shape
        return f"PagedKVCache(pages={pages}, page_size={size}, kv_heads={heads}, head_dim={dim}, free={len(self.free_pages)}, sequences={len(self._pages)})"

    def length(self, sequence) -> int:
        """How many tokens a sequence has here; 0 for one that has not begun."""
        return self._lengths.get(sequence, 0)

    def append(self, sequence, k, v) -> None:
        """Write keys and values (kv_heads, tokens, head_dim) at a sequence's end: one dispatch.

        RuntimeError where shape or dtype are not the cache's, and where too few pages are free: nothing has changed then.
        """
        _refuse_recording("append()")
        tokens = self._checked(k, v)
        if not tokens:
            return
        length = self.length(sequence)
        pages = [*self._pages.get(sequence, ()), *self._taken(sequence, length + tokens)]
        first = length // self.page_size
        with no_grad():
            apply(OPS["cache_write"], self.keys, self.values, k, v, self._numbers(pages[first:]), start=length - first * self.page_size,
                  out=(self.keys, self.values))
        del self.free_pages[len(self.free_pages) - (len(pages) - len(self._pages.get(sequence, ()))):]
        self._pages[sequence], self._lengths[sequence] = pages, length + tokens

    def free(self, sequence) -> None:
        """End a sequence: its pages are free again. KeyError for one that is not here."""
        self.free_pages += reversed(self._known(sequence))
        del self._pages[sequence], self._lengths[sequence]

    def attend(self, sequences, q, scale=None):
        """Attention of the newest tokens of each sequence over its own keys: q and the result (len(sequences), q_heads, tokens, head_dim).

        Token t of n sees all keys but those of the n - 1 - t tokens after it. ``q_heads`` is a multiple of kv_heads, whose heads it shares in order
        (enable_gqa); ``scale`` is 1 / sqrt(head_dim) unless given. KeyError for a sequence that is not here, RuntimeError where one is shorter than q,
        or q not of the cache's dtype and head_dim.
        """
        _refuse_recording("attend()")
        pages = [self._known(s) for s in sequences]
        self._check_queries(sequences, q)
        if not q.numel():
            return FUNCTIONS["torch"]["empty_like"](q)
        scale = self.head_dim ** -0.5 if scale is None else scale
        with no_grad():
            return apply(OPS["attention_paged"], q, self.keys, self.values, self._table_of(pages), self._numbers([self._lengths[s] for s in sequences]),
                         scale=float(scale))

    def _known(self, sequence):
        """A sequence's pages."""
        if sequence not in self._pages:
            raise KeyError(f"PagedKVCache: no sequence {sequence!r} here")
        return self._pages[sequence]

    def _taken(self, sequence, length):
        """The free pages that a sequence of this length takes."""
        needed = -(-length // self.page_size) - len(self._pages.get(sequence, ()))
        if needed > len(self.free_pages):
            raise RuntimeError(f"PagedKVCache: {needed} more pages are needed for sequence {sequence!r} and {len(self.free_pages)} are free; "
                               "free() sequences that have ended")
        return self.free_pages[:-needed - 1:-1] if needed else []

    def _numbers(self, values):
        return FUNCTIONS["torch"]["tensor"](values, dtype=dtypes.int32, device=self.keys.device)

    def _table_of(self, pages):
        """The table of these lists of pages (sequences, width): as wide as a power of two, so that few plans are made while sequences grow."""
        key = tuple(map(tuple, pages))
        if self._table[0] != key:
            width = 1 << (max(map(len, pages)) - 1).bit_length()
            self._table = key, self._numbers([[*p, *[0] * (width - len(p))] for p in pages])
        return self._table[1]

    def _checked(self, k, v):
        """The number of tokens of new keys and values."""
        for name, t in (("k", k), ("v", v)):
            if t.dim() != 3 or (t.shape[0], t.shape[2]) != (self.kv_heads, self.head_dim) or t.shape != k.shape:
                raise RuntimeError(f"PagedKVCache: expected {name} of shape [{self.kv_heads}, tokens, {self.head_dim}], as k's and v's are, got {list(t.shape)}")
            self._check_dtype(name, t)
        return k.shape[1]

    def _check_dtype(self, name, t):
        if t.dtype is not self.keys.dtype:
            raise RuntimeError(f"PagedKVCache: expected {name} of dtype {self.keys.dtype}, as the cache is, got {t.dtype}")

    def _check_queries(self, sequences, q):
        if q.dim() != 4 or q.shape[0] != len(sequences) or q.shape[1] % self.kv_heads or q.shape[3] != self.head_dim:
            raise RuntimeError(f"PagedKVCache: expected q of shape [{len(sequences)}, a multiple of {self.kv_heads}, tokens, {self.head_dim}], got {list(q.shape)}")
        self._check_dtype("q", q)
        for s in sequences:
            if self._lengths[s] < q.shape[2]:
                raise RuntimeError(f"PagedKVCache: sequence {s!r} has {self._lengths[s]} tokens here, fewer than the {q.shape[2]} of q: append() them first")


def _refuse_recording(what):
    if state.recorder is not None:
        state.recorder.refuse(f"PagedKVCache.{what}")
