// ONNX Runtime Web with its native WebGPU provider. A graph holds an operation many times over, each on the result of the one before, as
// networks do: one call of a session costs more than many of these kernels. Input and outputs stay on the GPU; weights are constants.
// Graph capture is left out: in 1.30 a second session's replays lose their buffers now and then.
import * as ort from "./lib/ort/ort.jspi.min.mjs";
import { constant, model, node } from "./onnx.mjs";

const DEPTH = 16;
let device;

export async function start() {
  ort.env.wasm.wasmPaths = new URL("./lib/ort/", import.meta.url).href;
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "error";
  const nothing = model({ nodes: [node(["x"], "Relu", ["y"])], inputs: { x: [1] }, outputs: { y: [1] } });
  await session(nothing);  // the device is there from a first session on, and as long as one is
  device = await ort.env.webgpu.device;
  return device.adapterInfo;
}

const session = (bytes) => ort.InferenceSession.create(bytes, {
  executionProviders: ["webgpu"], graphOptimizationLevel: "all", preferredOutputLocation: "gpu-buffer" });

const sizeOf = (shape) => 4 * shape.reduce((a, b) => a * b, 1);

function onGpu(shape, data) {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const buffer = device.createBuffer({ size: Math.ceil(sizeOf(shape) / 16) * 16, usage });
  if (data) device.queue.writeBuffer(buffer, 0, data);
  return ort.Tensor.fromGpuBuffer(buffer, { dataType: "float32", dims: shape });
}

async function read(tensor, bytes) {
  const staging = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(tensor.gpuBuffer, 0, staging, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const found = new Float32Array(staging.getMappedRange().slice(0));
  staging.destroy();
  return found;
}

// Work of a session that holds an operation `depth` times. `nodes(from, to)`: its nodes between two names.
async function calls(x, nodes, constants = {}, { depth = DEPTH, shape = x.shape } = {}) {
  const names = ["x", ...Array.from({ length: depth }, (_, i) => `y${i + 1}`)];
  const shapes = { y1: shape, [`y${depth}`]: shape };  // the first result is looked at, the last one makes the others needed
  const bytes = model({
    nodes: names.slice(1).flatMap((to, i) => nodes(names[i], to)), inputs: { x: x.shape }, outputs: shapes,
    constants: Object.entries(constants).map(([name, tensor]) => constant(name, tensor)) });
  const running = await session(bytes);
  const feeds = { x: onGpu(x.shape, x.data) };
  const results = Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, onGpu(shape)]));
  const run = async (n) => { while (n--) await running.run(feeds, results); };
  return {
    per: depth, run,
    sync: () => read(results.y1, 4),
    async result() {
      await run(1);
      return read(results.y1, sizeOf(shape));
    },
    async drop() {
      await running.release();
      for (const tensor of [feeds.x, ...Object.values(results)]) tensor.gpuBuffer.destroy();
    },
  };
}

const scalar = (number) => ({ data: Float32Array.of(number), shape: [] });

export const cases = {
  matmul: ({ x, w }) => calls(x, (from, to) => [node([from, "w"], "MatMul", [to])], { w }),
  conv: ({ x, w }) => calls(x, (from, to) => [node([from, "w"], "Conv", [to], { kernel_shape: [3, 3], pads: [1, 1, 1, 1] })], { w }),
  softmax: ({ x }) => calls(x, (from, to) => [node([from], "Softmax", [to], { axis: -1 })]),
  layernorm: ({ x, weight, bias }) => calls(x, (from, to) => [
    node([from, "weight", "bias"], "LayerNormalization", [to], { axis: -1, epsilon: { float: 1e-5 } })], { weight, bias }),
  // Equal sums of one input would be made one.
  sum: ({ x }) => calls(x, (from, to) => [node([from, "axes"], "ReduceSum", [to], { keepdims: 0 })],
    { axes: { data: BigInt64Array.of(0n), shape: [1] } }, { depth: 1, shape: [] }),
  relu: ({ x }) => calls(x, (from, to) => [
    node([from, "two"], "Mul", [`${to}a`]), node([`${to}a`, "one"], "Add", [`${to}b`]), node([`${to}b`], "Relu", [to])],
    { two: scalar(2), one: scalar(1) }),
  async add({ x, w }) {
    const work = await calls(x, (from, to) => [node([from, "w"], "Add", [to])], { w }, { depth: 1 });
    return { ...work, run: async (n) => { while (n--) await work.result(); }, sync() {} };
  },
};
