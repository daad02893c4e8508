// TensorFlow.js on its WebGPU backend: eager calls, which is all it has; images are NHWC; each result is the next call's input.
let tf;

function script(url) {
  return new Promise((done, failed) => {
    const onerror = () => failed(new Error(`no ${url}`));
    document.head.append(Object.assign(document.createElement("script"), { src: url, onload: done, onerror }));
  });
}

export async function start() {
  await script("lib/tfjs/tf.min.js");
  await script("lib/tfjs/tf-backend-webgpu.min.js");
  tf = globalThis.tf;
  if (!await tf.setBackend("webgpu")) throw new Error("no WebGPU backend");
  await tf.ready();
  tf.env().set("WEBGPU_CPU_FORWARD", false);  // else small operations run on the processor
  return tf.backend().device.adapterInfo;
}

const tensor = ({ data, shape }) => tf.tensor(data, shape, "float32");

async function read(y) {
  const data = await y.data();
  y.dispose();
  return data;
}

// Work that calls f(x) again and again; `chained` where the result can be the next x.
function calls(x, f, { others = [], chained = true, shown = (y) => y } = {}) {
  let last = x.clone();
  return {
    run(n) {
      for (let i = 0; i < n; i++) {
        const next = tf.tidy(() => f(chained ? last : x));
        last.dispose();
        last = next;
      }
    },
    sync: () => read(tf.tidy(() => last.flatten().slice([0], [1]))),
    result: () => read(tf.tidy(() => shown(f(x)).clone())),
    drop: () => tf.dispose([x, last, ...others]),
  };
}

function layerNorm(x, weight, bias) {
  const { mean, variance } = tf.moments(x, 1, true);
  return tf.batchNorm(x, mean, variance, bias, weight, 1e-5);  // as its layer does
}

export const cases = {
  matmul(inputs) {
    const w = tensor(inputs.w);
    return calls(tensor(inputs.x), (x) => tf.matMul(x, w), { others: [w] });
  },
  conv(inputs) {
    const x = tf.tidy(() => tensor(inputs.x).transpose([0, 2, 3, 1])), w = tf.tidy(() => tensor(inputs.w).transpose([2, 3, 1, 0]));
    return calls(x, (x) => tf.conv2d(x, w, 1, "same"), { others: [w], shown: (y) => y.transpose([0, 3, 1, 2]) });
  },
  softmax: ({ x }) => calls(tensor(x), (x) => tf.softmax(x)),
  layernorm(inputs) {
    const [weight, bias] = [inputs.weight, inputs.bias].map(({ data }) => tf.tensor(data, [1, data.length]));
    return calls(tensor(inputs.x), (x) => layerNorm(x, weight, bias), { others: [weight, bias] });
  },
  sum: ({ x }) => calls(tensor(x), (x) => x.sum(), { chained: false }),
  relu: ({ x }) => calls(tensor(x), (x) => x.mul(2).add(1).relu()),
  add(inputs) {
    const x = tensor(inputs.x), w = tensor(inputs.w), once = () => read(x.add(w));
    return { run: async (n) => { while (n--) await once(); }, sync() {}, result: once, drop: () => tf.dispose([x, w]) };
  },
};
