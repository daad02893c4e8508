// Runs a program that pyborch exported, on WebGPU and without Python.
//   import { load } from "./run.mjs";
//   const model = await load("model.safetensors");            // a URL, or the file's bytes
//   const { data, shape } = await model.run({ x: numbers });   // or model.run(numbers): typed arrays or plain ones
// model.inputs and model.outputs say names, dtypes and shapes; results come nested as the function returned them.
const SLOT = 256, MAP_READ = 1, COPY_SRC = 4, COPY_DST = 8, UNIFORM = 64, STORAGE = 128;
const LIMITS = ["maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage", "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX"];
const NAMES = { BOOL: "bool", U8: "uint8", I8: "int8", I16: "int16", I32: "int32", U32: "uint32", I64: "int64", F16: "float16", F32: "float32" };
const Half = globalThis.Float16Array || Uint16Array;
const ARRAYS = { float32: Float32Array, float16: Half, uint32: Uint32Array, bool: Uint32Array };
const FILED = { BOOL: Uint8Array, U8: Uint8Array, I8: Int8Array, I16: Int16Array, I32: Int32Array, U32: Uint32Array, I64: BigInt64Array,
  F16: Uint16Array, F32: Float32Array };

// Numbers as the bytes that the GPU keeps: whole words, 64-bit integers as 32
function stored(values, dtype) {
  if (dtype === "float16" && values instanceof Uint16Array || values instanceof (ARRAYS[dtype] || Int32Array)) return padded(values);
  if (dtype === "float16" && Half === Uint16Array) throw new TypeError("float16 input: this browser has no Float16Array; give the bits as a Uint16Array");
  return padded((ARRAYS[dtype] || Int32Array).from(values, dtype === "bool" ? (v) => (v ? 1 : 0) : Number));
}

function padded(array) {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  if (bytes.length % 4 === 0) return bytes;
  const whole = new Uint8Array((bytes.length + 3) & ~3);
  whole.set(bytes);
  return whole;
}

function parse(bytes) {
  const start = 8 + Number(new DataView(bytes).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, start - 8)));
  const text = header.__metadata__ && header.__metadata__.pyborch;
  if (!text) throw new Error("this safetensors file holds no program: write it with pyborch.export.save");
  const program = JSON.parse(text);
  if (program.format !== 1) throw new Error(`format ${program.format} of this program is unknown here: take run.mjs of the same pyborch`);
  return { program, header, start };
}

async function open(features) {
  const adapter = globalThis.navigator && navigator.gpu && await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new Error("no WebGPU here: this browser has none, or no GPU is allowed");
  for (const name of features) if (!adapter.features.has(name)) throw new Error(`this program needs ${name}, which this GPU lacks`);
  const requiredLimits = Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]]));
  return adapter.requestDevice({ requiredLimits, requiredFeatures: features });
}

async function pipelineOf(device, kernel, texts, uniforms) {
  const entries = [...kernel.access].map((way, binding) => ({
    binding, visibility: 4, buffer: { type: way === "w" ? "storage" : "read-only-storage" } }));
  const layout = device.createBindGroupLayout({ entries });
  let code = kernel.code.replace(/\/\/#(\w+)\n/g, (_, name) => texts[name]);
  if (kernel.words) code += "\n@group(1) @binding(0) var<uniform> p: Params;\n";
  const bindGroupLayouts = kernel.words ? [layout, uniforms] : [layout];
  const pipeline = await device.createComputePipelineAsync({ label: kernel.label, layout: device.createPipelineLayout({ bindGroupLayouts }),
    compute: { module: device.createShaderModule({ label: kernel.label, code }), entryPoint: "main" } });
  return { pipeline, layout, words: kernel.words };
}

export async function load(source, device) {
  let bytes = source;
  if (typeof source === "string" || source instanceof URL) {
    const response = await fetch(source);
    if (!response.ok) throw new Error(`${source}: ${response.status} ${response.statusText}`);
    bytes = await response.arrayBuffer();
  }
  if (ArrayBuffer.isView(bytes)) bytes = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { program, header, start } = parse(bytes);
  device = device || await open(program.features);
  device.pushErrorScope("out-of-memory");
  device.pushErrorScope("validation");
  const buffers = program.buffers.map((size) => device.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST }));
  for (const [name, [buffer, offset]] of Object.entries(program.weights)) {
    const { dtype, data_offsets: [from, to] } = header[name];
    const values = new FILED[dtype](bytes.slice(start + from, start + to));
    device.queue.writeBuffer(buffers[buffer], offset, stored(values, NAMES[dtype]));
  }
  const uniformLayout = device.createBindGroupLayout({ entries: [{ binding: 0, visibility: 4, buffer: { type: "uniform", hasDynamicOffset: true } }] });
  const kernels = await Promise.all(program.kernels.map((kernel) => pipelineOf(device, kernel, program.texts, uniformLayout)));
  const words = new Uint32Array(Math.max(1, program.steps.length) * SLOT / 4);
  program.steps.forEach((step, n) => words.set(step[4], n * SLOT / 4));
  const uniforms = device.createBuffer({ size: words.byteLength, usage: UNIFORM | COPY_DST });
  device.queue.writeBuffer(uniforms, 0, words);
  const uniformGroup = device.createBindGroup({ layout: uniformLayout, entries: [{ binding: 0, resource: { buffer: uniforms, offset: 0, size: SLOT } }] });
  const steps = program.steps.map(([kernel, spans, x, y]) => ({ ...kernels[kernel], x, y, group: device.createBindGroup({ layout: kernels[kernel].layout,
    entries: spans.map(([buffer, offset, size], binding) => ({ binding, resource: { buffer: buffers[buffer], offset, size } })) }) }));
  for (let n = 0; n < 2; n++) {
    const error = await device.popErrorScope();
    if (error) throw new Error(error.message);
  }
  return new Model(device, program, buffers, steps, uniforms, uniformGroup);
}

class Model {
  constructor(device, program, buffers, steps, uniforms, uniformGroup) {
    Object.assign(this, { device, buffers, steps, uniforms, uniformGroup, tree: program.tree, inputs: program.inputs, outputs: program.outputs });
    device.lost.then((info) => { this.lost = info; });
  }

  async run(...args) {
    const { device, buffers } = this, named = args.length === 1 && args[0] && args[0].constructor === Object ? args[0] : null;
    if (this.lost) throw new Error(`device lost: ${this.lost.message}`);
    this.inputs.forEach(({ name, dtype, shape, at }, n) => {
      const given = named ? named[name] : args[n], count = shape.reduce((a, b) => a * b, 1);
      if (!given || given.length !== count) {
        throw new TypeError(`input "${name}" takes ${count} numbers, [${shape}] of ${dtype}; ${given ? `${given.length} came` : "none came"}`);
      }
      if (count) device.queue.writeBuffer(buffers[at[0]], at[1], stored(given, dtype));
    });
    const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
    this.steps.forEach(({ pipeline, group, x, y, words }, n) => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      if (words) pass.setBindGroup(1, this.uniformGroup, [n * SLOT]);
      pass.dispatchWorkgroups(x, y);
    });
    pass.end();
    let size = 0;
    const places = this.outputs.map(({ at }) => { const place = size; size += at[2]; return place; });
    const staging = device.createBuffer({ size: Math.max(4, size), usage: MAP_READ | COPY_DST });
    this.outputs.forEach(({ at }, n) => encoder.copyBufferToBuffer(buffers[at[0]], at[1], staging, places[n], at[2]));
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(1);
    const mapped = staging.getMappedRange();
    const results = this.outputs.map(({ dtype, shape }, n) => {
      const count = shape.reduce((a, b) => a * b, 1), raw = new (ARRAYS[dtype] || Int32Array)(mapped, places[n], count);
      return { data: dtype === "bool" ? Uint8Array.from(raw) : raw.slice(), shape, dtype };
    });
    staging.destroy();
    return filled(this.tree, results);
  }

  // Gives the GPU's memory back.
  destroy() {
    for (const buffer of [...this.buffers, this.uniforms]) buffer.destroy();
  }
}

function filled(tree, results) {
  if (Array.isArray(tree)) return tree.map((part) => filled(part, results));
  if (tree === null || typeof tree !== "object") return tree;
  if (typeof tree.result === "number") return results[tree.result];
  return Object.fromEntries(Object.entries(tree).map(([key, part]) => [key, filled(part, results)]));
}
