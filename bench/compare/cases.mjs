// What is measured: every case's inputs, the amount of its work, and what is right, the same for all peers.
// An operation's `expected(inputs, i)` is the i-th element of its result in plain double arithmetic.

// Floats between -scale and scale of a linear congruential generator. All 24 bits are used, so that products in less than float32 show.
function values(shape, seed, scale = 1) {
  const data = new Float32Array(shape.reduce((a, b) => a * b, 1));
  for (let i = 0, state = seed; i < data.length; i++) {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    data[i] = ((state >>> 8) / 8388608 - 1) * scale;
  }
  return { data, shape };
}

// Sums of these are exact in any order: else how far off millions are tells only in which order they were added.
function eighths({ data, shape }) {
  return { data: data.map((v) => Math.round(8 * v) / 8), shape };
}

const OPS = {
  matmul: {
    inputs: ({ n }) => ({ x: values([n, n], 1), w: values([n, n], 2, Math.sqrt(3 / n)) }),
    amount: ({ n }) => 2 * n ** 3,
    expected({ x, w }, i) {
      const n = x.shape[0], row = Math.floor(i / n), column = i % n;
      let sum = 0;
      for (let k = 0; k < n; k++) sum += x.data[row * n + k] * w.data[k * n + column];
      return sum;
    },
  },
  conv: {
    inputs: ({ images, channels, size }) => ({
      x: values([images, channels, size, size], 3), w: values([channels, channels, 3, 3], 4, Math.sqrt(1 / (3 * channels))) }),
    amount: ({ images, channels, size }) => 18 * images * channels ** 2 * size ** 2,
    expected({ x, w }, i) {
      const [, channels, size] = x.shape, column = i % size, row = Math.floor(i / size) % size;
      const out = Math.floor(i / size ** 2) % channels, image = Math.floor(i / (size ** 2 * channels));
      let sum = 0;
      for (let c = 0; c < channels; c++) for (let k = 0; k < 9; k++) {
        const y = row + Math.floor(k / 3) - 1, z = column + k % 3 - 1;
        if (y < 0 || z < 0 || y >= size || z >= size) continue;
        sum += x.data[((image * channels + c) * size + y) * size + z] * w.data[(out * channels + c) * 9 + k];
      }
      return sum;
    },
  },
  softmax: {
    inputs: ({ rows }) => ({ x: values([rows, 1024], 5, 4) }),
    amount: ({ rows }) => 8 * rows * 1024,
    expected: ({ x }, i) => Math.exp(x.data[i]) / rowOf(x, i).reduce((sum, v) => sum + Math.exp(v), 0),
  },
  layernorm: {
    inputs: ({ rows }) => ({ x: values([rows, 1024], 6), weight: values([1024], 7), bias: values([1024], 8) }),
    amount: ({ rows }) => 8 * rows * 1024,
    expected({ x, weight, bias }, i) {
      const row = rowOf(x, i), mean = row.reduce((sum, v) => sum + v, 0) / 1024;
      const variance = row.reduce((sum, v) => sum + (v - mean) ** 2, 0) / 1024;
      return (x.data[i] - mean) / Math.sqrt(variance + 1e-5) * weight.data[i % 1024] + bias.data[i % 1024];
    },
  },
  sum: {
    inputs: ({ n }) => ({ x: eighths(values([n], 9)) }),
    amount: ({ n }) => 4 * n,
    scale: ({ x }) => Math.sqrt(x.data.length),  // what such sums come to; this one may be near zero
    expected: ({ x }) => x.data.reduce((sum, v) => sum + v, 0),
  },
  relu: {
    inputs: ({ n }) => ({ x: values([n], 10) }),
    amount: ({ n }) => 8 * n,
    expected: ({ x }, i) => Math.max(0, x.data[i] * 2 + 1),
  },
  add: {
    inputs: () => ({ x: values([2, 3], 11), w: values([2, 3], 12) }),
    amount: () => 1,
    expected: ({ x, w }, i) => x.data[i] + w.data[i],
  },
};

function rowOf({ data, shape }, i) {
  const start = i - i % shape[1];
  return data.subarray(start, start + shape[1]);
}

// A handful of places in a result: its first, its last, and some between.
function places(length) {
  const between = Array.from({ length: 14 }, (_, k) => (Math.imul(k + 1, 0x9e3779b1) >>> 0) % length);
  return new Set([0, length - 1, ...between]);
}

// How far off a result is at worst, as a part of the largest of the values that are looked at.
export function worst(op, inputs, result) {
  const length = op === "sum" ? 1 : inputs.x.data.length;
  if (result.length !== length) throw new Error(`a result of ${result.length} elements instead of ${length}`);
  let off = 0, largest = OPS[op].scale?.(inputs) ?? 0;
  for (const i of places(length)) {
    const expected = OPS[op].expected(inputs, i);
    const distance = Math.abs(result[i] - expected);
    if (!(distance <= off)) off = distance;
    largest = Math.max(largest, Math.abs(expected));
  }
  return off / largest;
}

const one = (op, name, unit, sizes) => ({
  op, name, unit, amount: OPS[op].amount(sizes), inputs: () => OPS[op].inputs(sizes) });
const conv = (images, channels, size) => one(
  "conv", `conv 3x3 ${images}x${channels}x${size}x${size}`, "TFLOP/s", { images, channels, size });

// All cases, in order; `small`: what a software adapter can do.
export function cases(small) {
  const rows = small ? 64 : 4096, power = small ? 16 : 24;
  return [
    ...(small ? [64] : [512, 1024, 2048, 4096]).map((n) => one("matmul", `matmul ${n}`, "TFLOP/s", { n })),
    ...(small ? [[1, 8, 8]] : [[16, 64, 56], [16, 256, 14]]).map((sizes) => conv(...sizes)),
    one("softmax", `softmax ${rows}x1024`, "GB/s", { rows }),
    one("layernorm", `layer norm ${rows}x1024`, "GB/s", { rows }),
    one("sum", `sum 2^${power}`, "GB/s", { n: 2 ** power }),
    one("relu", `relu(x*2+1) 2^${power}`, "GB/s", { n: 2 ** power }),
    one("add", "add 2x3, read back", "ms", {}),
  ];
}

// A number of the case's unit.
export function rate({ unit, amount }, seconds) {
  return unit === "ms" ? seconds * 1e3 : amount / seconds / (unit === "GB/s" ? 1e9 : 1e12);
}
