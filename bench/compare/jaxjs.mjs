// jax-js: every operation a function under jit(); each result is the next call's input. Calls take their arguments unless given `.ref`.
import * as jax from "./lib/jaxjs/index.js";

const { jit, lax, nn, numpy } = jax;

export async function start() {
  if (!(await jax.init("webgpu")).includes("webgpu")) throw new Error("no WebGPU backend");
  jax.defaultDevice("webgpu");
  return jax.getWebGPUDevice().adapterInfo;
}

const array = ({ data, shape }) => numpy.array(data).reshape(shape);

// Work that calls f(x, ...others) again and again, each result the next x: a result that nothing needs would never be computed.
function calls(f, inputs) {
  const compiled = jit(f), [x, ...others] = inputs.map(array);
  let last = x.ref;
  const call = (x) => compiled(x, ...others.map((other) => other.ref));
  return {
    run(n) {
      while (n--) last = call(last);
    },
    sync: () => (last.ndim ? last.ref.slice(...last.shape.map(() => 0)) : last.ref).data(),
    result: () => call(x.ref).data(),
    drop() {
      for (const array of [x, last, ...others]) array.dispose();
      compiled.dispose?.();
    },
  };
}

const zero = { data: new Float32Array(1), shape: [] };

export const cases = {
  matmul: ({ x, w }) => calls((x, w) => numpy.matmul(x, w), [x, w]),
  conv: ({ x, w }) => calls((x, w) => lax.convGeneralDilated(x, w, [1, 1], [[1, 1], [1, 1]]), [x, w]),
  softmax: ({ x }) => calls((x) => nn.softmax(x, -1), [x]),
  layernorm: ({ x, weight, bias }) => calls((x, weight, bias) => nn.standardize(x, -1).mul(weight).add(bias), [x, weight, bias]),
  sum: ({ x }) => calls((total, x) => numpy.sum(x).add(total), [zero, x]),
  relu: ({ x }) => calls((x) => nn.relu(x.mul(2).add(1)), [x]),
  add(inputs) {
    const x = array(inputs.x), w = array(inputs.w), once = () => x.ref.add(w.ref).data();
    return { run: async (n) => { while (n--) await once(); }, sync() {}, result: once, drop() { x.dispose(); w.dispose(); } };
  },
};
