"""Random tensors and dropout: counter-based, so that a stream depends on the seed alone and replays advance it."""
from __future__ import annotations

import math

from .. import dtypes, kernels
from .. import shape as shapes
from ..autograd import apply, no_grad, state
from ..random import default_generator, host_seed
from .create import _backend, _made, _shape
from .registry import Op, S, T, function

SCALARS = ("seed_low", "seed_high", "offset_low", "offset_high")
STREAM = dict(zip(SCALARS, (7, 1, 5, 0)))     # of the samples
VALUES = {  # per kind: (compute type, body of value(w, k), numpy of it)
    "uniform": ("f32", "return p.a + (p.b - p.a) * unit(w[k]);"),
    "normal": ("f32", "let r = sqrt(-2.0 * log(1.0 - unit(w[k & 2u]))); let t = 6.283185307179586 * unit(w[(k & 2u) + 1u]); "
                      "return p.a + p.b * r * select(cosine(t), sine(t), (k & 1u) == 1u);"),
    "integer": ("i32", "return p.a + i32(multiply_high(w[k], u32(p.b)));"),
    "exponential": ("f32", "return -log(1.0 - unit(w[k])) / p.a;"),
    "bernoulli": ("f32", "return select(0.0, 1.0, unit(w[k]) < p.a);"),
}


def philox(np, count, seed_low, seed_high, offset_low, offset_high):
    """``count`` random words as in wgsl/philox.wgsl."""
    blocks = -(-count // 4)
    counter = np.arange(blocks, dtype=np.uint64) + np.uint64(offset_low) + (np.uint64(offset_high) << np.uint64(32))
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [counter & mask, counter >> shift, np.zeros(blocks, np.uint64), np.zeros(blocks, np.uint64)]
    k = [int(seed_low), int(seed_high)]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> shift) ^ c[1] ^ np.uint64(k[0]), b & mask, (a >> shift) ^ c[3] ^ np.uint64(k[1]), a & mask]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, 1).reshape(-1)


def unit(np, words):
    """Words as float32 in [0, 1)."""
    return (words >> np.uint64(8)).astype(np.float32) * np.float32(2.0 ** -24)


def _random_run(plan, y, *, kind, shape, dtype, device):
    m = y.meta
    if not m.numel:
        return
    type, body = VALUES[kind]
    bound = "i32" if kind == "integer" else "f32"
    text = kernels.source("pointwise_functions") + kernels.source("philox") + f"\nfn value(w: vec4<u32>, k: u32) -> {type} {{ {body} }}"
    words = [m.numel, m.offset, *[plan.named(n, "u") for n in SCALARS], plan.named("a", bound[0]), plan.named("b", bound[0])]
    plan.dispatch(kernels.from_file("random", types={"T": m.dtype.wgsl, "B": bound}, text=text), [y], words, -(-m.numel // 256))


def _random_numpy(np, *, kind, shape, dtype, device, a, b, **stream):
    count = shapes.numel(shape)
    words = philox(np, count, **stream)
    if kind == "integer":
        return (a + ((words * np.uint64(b)) >> np.uint64(32)).astype(np.int64))[:count].reshape(shape)
    u = unit(np, words)
    if kind == "normal":
        pairs = u.reshape(-1, 2)
        r, t = np.sqrt(-2 * np.log(1 - pairs[:, 0])), np.float32(2 * math.pi) * pairs[:, 1]
        value = a + b * np.stack([r * np.cos(t), r * np.sin(t)], 1).reshape(-1)
    elif kind == "uniform":
        value = a + (b - a) * u
    else:
        value = -np.log(1 - u) / a if kind == "exponential" else u < a
    return value[:count].reshape(shape)


RANDOM = Op("random", lambda *, kind, shape, dtype, device: (shape, dtype), _random_run, _random_numpy, scalars=(*SCALARS, "a", "b"),
            doc="Random numbers of a kind, from a seed and a counter.",
            samples=[S(kind=kind, shape=(3, 7), dtype=dtype, device=None, **STREAM, a=a, b=b) for kind, dtype, a, b in (
                ("uniform", "float32", -1.0, 2.0), ("normal", "float32", 0.5, 2.0), ("integer", "int64", 3, 9), ("exponential", "float32", 2.0, 0.0),
                ("bernoulli", "float32", 0.3, 0.0))])
RANDOM.overwrites = True


def random_of(kind, shape, dtype, device, a=0.0, b=1.0, generator=None, out=None):
    """Random numbers of a kind of VALUES with parameters a and b."""
    stream = (generator or default_generator).draw(-(-shapes.numel(shape) // 4))
    return apply(RANDOM, out=out, kind=kind, shape=tuple(shape), dtype=dtype, device=device, **stream, a=a, b=b)


# making tensors
def _maker(name, kind, doc):
    def make(*size, generator=None, out=None, dtype=None, device=None, requires_grad=False, pin_memory=False, **named):
        dtype = dtype or dtypes.get_default_dtype()
        shape = _shape(named.get("size", size) if isinstance(named.get("size", size), (tuple, list)) else (named["size"],))
        return _made(random_of(kind, shape, dtype, _backend(device), 0.0, 1.0, generator), requires_grad)

    def like(input, *, dtype=None, device=None, requires_grad=False, memory_format=None, generator=None):
        m = input.meta
        return _made(random_of(kind, m.shape, dtype or m.dtype, m.device if device is None else _backend(device), 0.0, 1.0, generator), requires_grad)
    make.__doc__, like.__doc__ = doc, f"{name}() with the shape, dtype and device of ``input``."
    function(to="torch", name=name)(make)
    function(to="torch", name=name + "_like")(like)


_maker("rand", "uniform", "Uniform numbers in [0, 1) of the given sizes.")
_maker("randn", "normal", "Standard normal numbers of the given sizes.")


@function(to="torch")
def randint(low, high=None, size=None, *, generator=None, dtype=None, device=None, requires_grad=False):
    """Whole numbers in [low, high) of shape ``size``; ``randint(high, size)`` starts at 0."""
    if size is None:
        low, high, size = 0, low, high
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return random_of("integer", _shape((size,)), dtype or dtypes.int64, _backend(device), int(low), int(high - low), generator)


@function(to="torch")
def randint_like(input, low, high=None, *, dtype=None, device=None):
    """randint() with the shape, dtype and device of ``input``."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), dtype=dtype or input.dtype, device=input.meta.device if device is None else device)


@function(to="torch")
def randperm(n, *, generator=None, dtype=None, device=None, requires_grad=False):
    """The numbers 0 .. n-1 in random order (int64); shuffled on the host."""
    if state.recorder is not None:
        state.recorder.refuse("randperm()")
    import random
    order = list(range(n))
    random.Random(host_seed(generator)).shuffle(order)
    from .create import tensor
    return tensor(order, dtype=dtype or dtypes.int64, device=device)


@function(to="torch Tensor")
def bernoulli(input, p=None, *, generator=None, out=None):
    """1 with the probability that ``input`` gives per element (or ``p`` everywhere), else 0."""
    m = input.meta
    if p is not None:
        return random_of("bernoulli", m.shape, m.dtype, m.device, float(p), 0.0, generator)
    return (random_of("uniform", m.shape, dtypes.float32, m.device, 0.0, 1.0, generator) < input.detach()).to(m.dtype)


@function(to="torch")
def normal(mean, std=1.0, size=None, *, generator=None, dtype=None, device=None):
    """Normal numbers with mean and standard deviation given as numbers (with ``size``) or tensors."""
    if size is not None:
        return random_of("normal", _shape((size,)), dtype or dtypes.get_default_dtype(), _backend(device), float(mean), float(std), generator)
    like = mean if hasattr(mean, "meta") else std
    shape = shapes.broadcast(*[tuple(t.shape) for t in (mean, std) if hasattr(t, "meta")])
    return random_of("normal", shape, like.meta.dtype, like.meta.device, 0.0, 1.0, generator) * std + mean


@function(to="torch Tensor")
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Indices drawn with the probabilities of each row of ``input`` (not normalised), int64; without replacement by exponential keys."""
    m = input.meta
    if len(m.shape) not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement:
        if num_samples > m.shape[-1]:
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        keys = input.detach() / random_of("exponential", m.shape, dtypes.float32, m.device, 1.0, 0.0, generator)
        return keys.topk(num_samples, -1)[1]
    cumulative = input.detach().cumsum(-1)
    drawn = random_of("uniform", (*m.shape[:-1], num_samples), dtypes.float32, m.device, 0.0, 1.0, generator) * cumulative[..., -1:]
    return (cumulative.unsqueeze(-2) <= drawn.unsqueeze(-1)).sum(-1).clamp_max(m.shape[-1] - 1)


# filling tensors in place
def _fill(self, kind, a, b, generator):
    m = self.meta
    if m.contiguous:
        return random_of(kind, m.shape, m.dtype, m.device, a, b, generator, out=self)
    return self.copy_(random_of(kind, m.shape, m.dtype, m.device, a, b, generator))


@function(to="Tensor")
def uniform_(self, from_=0.0, to=1.0, *, generator=None, **named):
    """Fill with uniform numbers in [from, to)."""
    low = named.get("from", from_)
    if low > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    return _fill(self, "uniform", float(low), float(to), generator)


@function(to="Tensor")
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fill with normal numbers."""
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return _fill(self, "normal", float(mean), float(std), generator)


@function(to="Tensor")
def exponential_(self, lambd=1.0, *, generator=None):
    """Fill with exponential numbers of rate ``lambd``."""
    return _fill(self, "exponential", float(lambd), 0.0, generator)


@function(to="Tensor")
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with 1 with probability ``p`` (a number or a tensor), else 0."""
    if hasattr(p, "meta"):
        return self.copy_(bernoulli(p.expand(self.shape), generator=generator))
    return _fill(self, "bernoulli", float(p), 0.0, generator)


@function(to="Tensor")
def random_(self, from_=0, to=None, *, generator=None):
    """Fill with whole numbers in [from, to), or [0, from) with one argument; up to 2^24 in floats, 2^31 - 1 in integers unless given."""
    if to is None:
        from_, to = 0, from_ or (1 << 24 if self.meta.dtype.kind == "f" else (1 << 31) - 1)
    return _fill(self, "integer", int(from_), int(to - from_), generator)


# dropout
def _dropout_run(plan, x, y):
    x = plan.contiguous(x)
    m = x.meta
    words = [m.numel, m.offset, *[plan.named(n, "u") for n in SCALARS], plan.named("rate"), plan.named("scale")]
    plan.dispatch(kernels.from_file("dropout", types={"T": m.dtype.wgsl}, text=kernels.source("philox")), [x, y], words, -(-m.numel // 256))


def _dropout_numpy(np, x, *, rate, scale, **stream):
    kept = unit(np, philox(np, x.size, **stream))[:x.size].reshape(x.shape) >= np.float32(rate)
    return np.where(kept, x * np.asarray(scale, x.dtype), np.asarray(0, x.dtype))


DROPOUT = Op("dropout", lambda x: (x.shape, x.dtype), _dropout_run, _dropout_numpy, scalars=(*SCALARS, "rate", "scale"),
             grad={"x": lambda g, seed_low, seed_high, offset_low, offset_high, rate, scale: apply(
                 DROPOUT, g, seed_low=seed_low, seed_high=seed_high, offset_low=offset_low, offset_high=offset_high, rate=rate, scale=scale)},
             doc="Elements left out at random, the others scaled.",
             samples=[S(T(5, 7), **STREAM, rate=0.3, scale=1 / 0.7), S(T(4, 3, view=lambda t: t.t()), **STREAM, rate=0.5, scale=2.0)])


def _check_p(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _written(result, input, inplace):
    return input.copy_(result) if inplace else result


@function(to="torch F")
def dropout(input, p=0.5, training=True, inplace=False):
    """Zero elements with probability ``p`` and scale the others by 1 / (1 - p); the gradient draws the same mask again."""
    _check_p(p)
    if not training or p == 0.0 or not input.numel():
        return input
    if p == 1.0:
        return _written(input * 0.0, input, inplace)
    stream = default_generator.draw(-(-input.numel() // 4))
    return _written(apply(DROPOUT, input, **stream, rate=float(p), scale=1.0 / (1.0 - p)), input, inplace)


def _mask(input, p, dims):
    """1 / (1 - p) or 0, per sample and channel."""
    with no_grad():
        shape = tuple(input.shape[:dims]) + (1,) * (input.dim() - dims)
        return random_of("bernoulli", shape, input.meta.dtype, input.meta.device, 1.0 - p) / (1.0 - p)


def _feature_dropout(name, rank):
    def call(input, p=0.5, training=True, inplace=False):
        _check_p(p)
        if not training or p == 0.0:
            return input
        if p == 1.0:
            return _written(input * 0.0, input, inplace)
        return _written(input * _mask(input, p, 1 if input.dim() == rank else 2), input, inplace)
    call.__doc__ = f"Zero whole channels with probability ``p`` and scale the others by 1 / (1 - p); {name} of torch.nn.functional."
    function(to="torch F" if name == "feature_dropout" else "F", name=name)(call)


_feature_dropout("dropout1d", 2)
_feature_dropout("dropout2d", 3)
_feature_dropout("dropout3d", 4)
_feature_dropout("feature_dropout", 1)


def _alpha(input, p, training, inplace, dims):
    """alpha_dropout() with one draw for all positions after the first ``dims`` dims."""
    _check_p(p)
    if not training or p == 0.0 or not input.numel():
        return input
    if p == 1.0:
        return _written(input * 0.0, input, inplace)
    low, shape = -1.7580993408473766, tuple(input.shape[:dims]) + (1,) * (input.dim() - dims)
    with no_grad():
        kept = random_of("bernoulli", shape, input.meta.dtype, input.meta.device, 1.0 - p)
    scale = (1.0 - p + p * (1.0 - p) * low * low) ** -0.5
    return _written((input * kept + low * (1.0 - kept)) * scale - scale * p * low, input, inplace)


@function(to="torch F")
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance of self-normalising networks (Klambauer et al. 2017)."""
    return _alpha(input, p, training, inplace, input.dim())


@function(to="torch F")
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout() of whole channels."""
    return _alpha(input, p, training, inplace, 2)
