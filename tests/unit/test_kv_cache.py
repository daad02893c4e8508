"""The paged cache of keys and values on the cpu device, and what the GPU would be told to do."""
import pytest

import pyborch as torch
from pyborch import devices
from pyborch.devices.planned import Planned
from pyborch.nn import PagedKVCache
from pyborch.ops import decode

F = torch.nn.functional


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.set_default_device("cpu")
    torch.manual_seed(0)


@pytest.fixture
def gpu(monkeypatch):
    """A device that plans and runs nothing."""
    device = Planned()
    monkeypatch.setitem(devices._backends, "webgpu", device)
    torch.set_default_device("webgpu")
    torch.autograd.forget_plans()
    yield device
    torch.set_default_device("cpu")
    torch.autograd.forget_plans()


class Plain:
    """The same without pages: each sequence's keys and values in tensors of their own."""

    def __init__(self):
        self.k, self.v = {}, {}

    def append(self, sequence, k, v):
        for kept, new in ((self.k, k), (self.v, v)):
            kept[sequence] = torch.cat([kept[sequence], new], 1) if sequence in kept else new

    def attend(self, sequences, q):
        found = []
        for s, one in zip(sequences, q):
            k, v, tokens = self.k[s], self.v[s], q.shape[2]
            k, v = (t.repeat_interleave(q.shape[1] // k.shape[0], 0) for t in (k, v))
            seen = torch.ones(tokens, k.shape[1]).tril(k.shape[1] - tokens) > 0
            scores = (one @ k.transpose(-2, -1) * k.shape[2] ** -0.5).masked_fill(~seen, float("-inf"))
            found.append(scores.softmax(-1) @ v)
        return torch.stack(found)


def pair(tokens, heads=2, dim=4):
    return torch.randn(heads, tokens, dim), torch.randn(heads, tokens, dim)


def check(cache, plain, sequences, tokens, heads=6):
    q = torch.randn(len(sequences), heads, tokens, 4)
    assert (cache.attend(sequences, q) - plain.attend(sequences, q)).abs().max().item() < 1e-6


def test_sequences_of_different_lengths_attend_to_their_own_keys_alone():
    cache, plain = PagedKVCache(20, 4, 2, 4), Plain()
    for sequence, tokens in (("a", 3), ("b", 9), ("a", 1), ("c", 1), ("a", 6), ("b", 1)):
        k, v = pair(tokens)
        for kept in (cache, plain):
            kept.append(sequence, k, v)
    assert [cache.length(s) for s in "abcd"] == [10, 10, 1, 0]
    check(cache, plain, ["a", "b", "c"], 1)
    check(cache, plain, ["b", "a"], 5)
    check(cache, plain, ["b"], 10)


def test_pages_that_come_free_are_used_again():
    cache, plain = PagedKVCache(4, 4, 2, 4), Plain()
    cache.append("old", *pair(10))
    cache.append("kept", *(first := pair(4)))
    plain.append("kept", *first)
    assert cache.free_pages == []
    cache.free("old")
    assert cache.length("old") == 0 and sorted(cache.free_pages) == [0, 1, 2]
    k, v = pair(11)
    for kept in (cache, plain):
        kept.append("new", k, v)
    assert cache.free_pages == []
    check(cache, plain, ["new", "kept"], 3)


def test_a_full_cache_says_what_is_needed_and_keeps_everything():
    cache, plain = PagedKVCache(3, 4, 2, 4), Plain()
    k, v = pair(7)
    for kept in (cache, plain):
        kept.append(1, k, v)
    with pytest.raises(RuntimeError, match="3 more pages are needed for sequence 2 and 1 are free"):
        cache.append(2, *pair(9))
    with pytest.raises(RuntimeError, match="2 more pages are needed for sequence 1 and 1 are free"):
        cache.append(1, *pair(6))
    assert cache.length(1) == 7 and cache.length(2) == 0 and len(cache.free_pages) == 1
    check(cache, plain, [1], 7)
    cache.append(1, *pair(5))
    assert cache.length(1) == 12 and cache.free_pages == []


def test_views_are_written_without_copies_and_nothing_is_written_for_no_tokens():
    cache, plain = PagedKVCache(3, 4, 2, 4), Plain()
    k, v = torch.randn(5, 2, 4).transpose(0, 1), torch.randn(2, 4, 5).transpose(1, 2)
    for kept in (cache, plain):
        kept.append("a", k, v)
    cache.append("b", *pair(0))
    assert cache.length("b") == 0 and len(cache.free_pages) == 1
    check(cache, plain, ["a"], 2)


@pytest.mark.parametrize("call, error, words", [
    (lambda c: c.append("a", torch.ones(2, 1, 4), torch.ones(2, 2, 4)), RuntimeError, r"expected v of shape \[2, tokens, 4\], as k's and v's are, got \[2, 2, 4\]"),
    (lambda c: c.append("a", torch.ones(3, 1, 4), torch.ones(3, 1, 4)), RuntimeError, r"expected k of shape .* got \[3, 1, 4\]"),
    (lambda c: c.append("a", *[torch.ones(2, 1, 4).half()] * 2), RuntimeError, "expected k of dtype torch.float32, as the cache is, got torch.float16"),
    (lambda c: c.attend(["b"], torch.ones(1, 2, 1, 4)), KeyError, "no sequence 'b' here"),
    (lambda c: c.free("b"), KeyError, "no sequence 'b' here"),
    (lambda c: c.attend(["a"], torch.ones(1, 3, 1, 4)), RuntimeError, r"expected q of shape \[1, a multiple of 2, tokens, 4\], got \[1, 3, 1, 4\]"),
    (lambda c: c.attend(["a", "a"], torch.ones(1, 2, 1, 4)), RuntimeError, r"expected q of shape \[2"),
    (lambda c: c.attend(["a"], torch.ones(1, 2, 4, 4)), RuntimeError, "sequence 'a' has 3 tokens here, fewer than the 4 of q"),
    (lambda c: c.attend(["a"], torch.ones(1, 2, 1, 4).half()), RuntimeError, "expected q of dtype torch.float32"),
    (lambda c: PagedKVCache(0, 1, 1, 1), ValueError, "are at least 1"),
    (lambda c: PagedKVCache(1, 1, 1, 1, torch.int32), TypeError, "expected a floating point dtype"),
    (lambda c: torch.compile(lambda: c.append("a", *pair(1)), fullgraph=True)(), Exception, r"PagedKVCache.append\(\) inside a compiled function"),
])
def test_errors_say_what_came(call, error, words):
    cache = PagedKVCache(3, 4, 2, 4)
    cache.append("a", *pair(3))
    with pytest.raises(error, match=words):
        call(cache)
    assert cache.length("a") == 3 and len(cache.free_pages) == 2


def test_an_append_is_one_dispatch_and_attention_two(gpu):
    cache = PagedKVCache(9, 4, 2, 8)
    gpu.plans.clear()
    cache.append("a", *[torch.randn(2, 9, 8)] * 2)
    cache.append("b", *[torch.randn(9, 2, 8).transpose(0, 1)] * 2)
    assert {len(p.steps) for p in gpu.plans if p.op.name == "cache_write"} == {1}
    cache.attend(["a", "b"], torch.randn(2, 4, 3, 8))
    assert [[s.kernel.label.split()[0] for s in p.steps] for p in gpu.plans if p.op.name == "attention_paged"] == [["attention_few", "attention_join"]]
    made = len(gpu.plans)
    cache.append("a", *[torch.randn(2, 9, 8)] * 2)
    assert len(gpu.plans) == made, "where a sequence has got to is no part of a plan"


def steps(gpu, q, k, size=16, **options):
    """The kernels of scaled_dot_product_attention over so many queries and keys."""
    gpu.plans.clear()
    F.scaled_dot_product_attention(torch.empty(1, 8, q, size), torch.empty(1, 2, k, size), torch.empty(1, 2, k, size), enable_gqa=True, **options)
    return [s.kernel.label.split()[0] for p in gpu.plans if p.op.name == "attention" for s in p.steps]


def test_few_queries_over_many_keys_have_a_kernel_of_their_own(gpu):
    few = ["attention_few", "attention_join"]
    assert steps(gpu, 1, 128) == steps(gpu, 4, 5000) == steps(gpu, 1, 300, 256) == few
    assert steps(gpu, 5, 128) == steps(gpu, 1, 127) == ["attention"]
    assert steps(gpu, 4, 128, is_causal=True) == ["attention"]
    assert steps(gpu, 4, 128, 256, is_causal=True) == []


def test_the_memory_of_a_workgroup_is_never_more_than_the_device_has(gpu):
    for rows in (1, 7, 16, 40):
        for size in (4, 64, 128, 257, 1000):
            for most in (16384, 32768):
                gpu.limits = {**gpu.limits, "maxComputeWorkgroupStorageSize": most}
                r, chunk = decode._division(gpu, 64, rows, 100000, size)
                assert decode.few_bytes(r, chunk, size) <= most and r >= 1
