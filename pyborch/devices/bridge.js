// The hot loop between Python and WebGPU: buffers, kernels, plans and programs are integers; work is appended to one
// command encoder and submitted on a read, at a bound, or on flush. Nothing here knows what an op is.
(() => {
  const PROFILED = 2048, QUERY_RESOLVE = 512, MAP_READ = 1, COPY_SRC = 4, COPY_DST = 8, UNIFORM = 64, STORAGE = 128, COMPUTE = 4;
  const RING_SLOT = 256, RING_SLOTS = 512;
  let device, queue, lost = null, immediateBytes = 0;
  let buffers = [null], starts = [0], slices = [null], freeIds = [], kernels = [], freeKernels = [], plans = [], freePlans = [], programs = [], freePrograms = [];
  let layouts = new Map(), pipelineLayouts = new Map();
  let encoder = null, pass = null, pending = 0, batch = [], waiting = [], compiling = new Set(), errors = [], scopes = new Set(), staging = new Map();
  let ring, ringGroup, ringBytes, ringWords, ringFloats, uniformLayout, slot = 0, submits = 0, dispatches = 0, profile = null;

  function check() {
    if (lost) throw new Error(`device lost: ${lost}`);
  }

  function note(kind, message, names) {
    errors.push(`${kind}: ${message}${names && names.length ? ` [while running ${names.join(", ")}]` : ""}`);
  }

  function scoped(filter, names, work, passed) {
    device.pushErrorScope(filter);
    const result = work();
    const popped = device.popErrorScope().then((error) => {
      if (error) note(filter, error.message, names);
      else if (passed) passed();
    }, () => {});
    scopes.add(popped);
    popped.finally(() => scopes.delete(popped));
    return result;
  }

  // Texts that outlive the page; null where the browser keeps nothing.
  function kept(mode, work) {
    const found = new Promise((resolve, reject) => {
      const opening = indexedDB.open("pyborch", 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("texts");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const request = work(opening.result.transaction("texts", mode).objectStore("texts"));
        request.onsuccess = () => { opening.result.close(); resolve(request.result ?? null); };
        request.onerror = () => reject(request.error);
      };
    });
    return Promise.race([found, new Promise((resolve) => setTimeout(resolve, 500, null))]);
  }
  const recall = async (name) => { try { return await kept("readonly", (store) => store.get(name)); } catch { return null; } };
  const remember = async (name, text) => { try { await kept("readwrite", (store) => store.put(text, name)); } catch { /* then it is measured again */ } };

  async function start(limitNames, featureNames) {
    if (!globalThis.navigator || !navigator.gpu) throw new Error("navigator.gpu is missing: this browser has no WebGPU, or it is switched off");
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
    if (!adapter) throw new Error("requestAdapter() found no adapter: WebGPU is there but no GPU is allowed or supported");
    const requiredLimits = {};
    for (const name of limitNames.split(" ")) {
      const value = adapter.limits[name];
      if (value !== undefined) requiredLimits[name] = value;
    }
    const requiredFeatures = featureNames.split(" ").filter((name) => adapter.features.has(name));
    device = await adapter.requestDevice({ requiredLimits, requiredFeatures });
    queue = device.queue;
    device.lost.then((info) => { lost = `${info.reason || "unknown"}: ${info.message}`; });
    device.onuncapturederror = (event) => note("uncaptured", event.error.message);
    const language = navigator.gpu.wgslLanguageFeatures;
    if (language && language.has("immediate_address_space")) immediateBytes = device.limits.maxImmediateSize || 0;
    uniformLayout = device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: COMPUTE, buffer: { type: "uniform", hasDynamicOffset: true, minBindingSize: 0 } }] });
    ring = device.createBuffer({ size: RING_SLOT * RING_SLOTS, usage: UNIFORM | COPY_DST });
    ringGroup = uniformGroup(ring);
    ringBytes = new Uint8Array(RING_SLOT * RING_SLOTS);
    ringWords = new Uint32Array(ringBytes.buffer);
    ringFloats = new Float32Array(ringBytes.buffer);
    const info = adapter.info || {};
    const limits = {};
    for (const name of limitNames.split(" ")) if (device.limits[name] !== undefined) limits[name] = device.limits[name];
    return JSON.stringify({
      vendor: info.vendor || "", architecture: info.architecture || "", device: info.device || "", description: info.description || "",
      fallback: Boolean(info.isFallbackAdapter || adapter.isFallbackAdapter), immediateBytes, limits,
      subgroupMinSize: info.subgroupMinSize || 0, subgroupMaxSize: info.subgroupMaxSize || 0,
      matrices: [...(info.subgroupMatrixConfigs || [])].map((c) => [c.componentType, c.resultComponentType, c.M, c.N, c.K]),
      features: [...device.features], language: language ? [...language] : [] });
  }

  function uniformGroup(buffer) {
    return device.createBindGroup({ layout: uniformLayout, entries: [{ binding: 0, resource: { buffer, offset: 0, size: RING_SLOT } }] });
  }

  // Work whose kernels are still being compiled waits here, and all that comes after it, in order: so pipelines compile side by side while
  // Python goes on. An entry is [steps or null, function].
  function inOrder(steps, work) {
    waiting.push([steps, work]);
    pump();
  }

  function compiled(steps) {
    return steps.every(({ kernel }) => kernel.pipeline !== null);
  }

  function pump() {
    while (waiting.length && (lost || waiting[0][0] === null || compiled(waiting[0][0]))) {
      const [, work] = waiting.shift();
      try { work(); } catch (error) { note("work", error.message); }
    }
  }

  // Buffers
  function createBuffer(size) {
    check();
    const buffer = scoped("out-of-memory", [`allocating ${size} bytes`],
      () => device.createBuffer({ size, usage: STORAGE | COPY_SRC | COPY_DST }));
    const id = freeIds.length ? freeIds.pop() : buffers.length;
    buffers[id] = buffer;
    starts[id] = 0;
    slices[id] = null;
    return id;
  }

  // Makes buffers parts of a new one, with what they hold; their ids stay. Returns the id of the whole.
  // gather(total bytes, (id, offset, bytes)...)
  function gather(total) {
    const whole = createBuffer(total), arena = { buffer: buffers[whole], id: whole, parts: 0 }, old = [];
    begin();
    endPass();
    for (let n = 1; n < arguments.length; n += 3) {
      const id = arguments[n], offset = arguments[n + 1], bytes = arguments[n + 2];
      encoder.copyBufferToBuffer(buffers[id], starts[id], arena.buffer, offset, bytes);
      old.push([buffers[id], slices[id]]);
      buffers[id] = arena.buffer;
      starts[id] = offset;
      slices[id] = { arena, bytes };
      arena.parts++;
    }
    flush();
    forgetGroups();
    for (const [buffer, slice] of old) release(buffer, slice);
    return whole;
  }

  // A part of a buffer under an id of its own; the buffer must outlive it.
  function part(whole, offset, bytes) {
    const id = freeIds.length ? freeIds.pop() : buffers.length;
    buffers[id] = buffers[whole];
    starts[id] = starts[whole] + offset;
    slices[id] = { arena: null, bytes };
    return id;
  }

  function release(buffer, slice) {
    if (!slice) buffer.destroy();
    else if (slice.arena === null) return;
    else if (--slice.arena.parts === 0) {
      buffer.destroy();
      buffers[slice.arena.id] = null;
      freeIds.push(slice.arena.id);
    }
  }

  function forgetGroups() {
    for (const layout of layouts.values()) layout.groups.clear();
  }

  function destroyBuffer(id) {
    if (waiting.length) inOrder(null, () => destroyNow(id));
    else destroyNow(id);
  }

  function destroyNow(id) {
    if (!buffers[id]) return;
    flush();
    forgetGroups();
    release(buffers[id], slices[id]);
    buffers[id] = slices[id] = null;
    freeIds.push(id);
  }

  function writeNow(id, offset, data) {
    flush();
    queue.writeBuffer(buffers[id], starts[id] + offset, data.buffer, data.byteOffset, data.byteLength);
  }

  // kind: "raw", or the logical dtype's code whose values widen to 32-bit words
  function write(id, offset, source, kind) {
    check();
    const view = source.getBuffer("u8");
    try {
      let data = view.data;
      if (kind !== "raw") data = widen(data, kind);
      else if (data.length % 4) { const padded = new Uint8Array((data.length + 3) & ~3); padded.set(data); data = padded; }
      if (waiting.length) { const kept = data.slice(); inOrder(null, () => writeNow(id, offset, kept)); } else writeNow(id, offset, data);
    } finally {
      view.release();
    }
  }

  function typed(Type, bytes) {
    return bytes.byteOffset % Type.BYTES_PER_ELEMENT === 0
      ? new Type(bytes.buffer, bytes.byteOffset, bytes.byteLength / Type.BYTES_PER_ELEMENT) : new Type(bytes.slice().buffer);
  }

  function widen(bytes, kind) {
    if (kind === "?") return Uint32Array.from(bytes, (b) => (b ? 1 : 0));
    if (kind === "B") return new Int32Array(bytes);
    if (kind === "b") return new Int32Array(typed(Int8Array, bytes));
    if (kind === "h") return new Int32Array(typed(Int16Array, bytes));
    const pairs = typed(Int32Array, bytes), words = new Int32Array(pairs.length / 2);
    for (let i = 0; i < words.length; i++) {
      const low = pairs[2 * i];
      if (pairs[2 * i + 1] !== low >> 31) throw new RangeError(`int64 value at element ${i}`);
      words[i] = low;
    }
    return words;
  }

  function narrow(bytes, kind) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >> 2);
    if (kind === "?" || kind === "B") return new Uint8Array(words);
    if (kind === "b") return new Uint8Array(new Int8Array(words).buffer);
    if (kind === "h") return new Uint8Array(new Int16Array(words).buffer);
    const pairs = new Int32Array(words.length * 2);
    for (let i = 0; i < words.length; i++) { pairs[2 * i] = words[i]; pairs[2 * i + 1] = words[i] >> 31; }
    return new Uint8Array(pairs.buffer);
  }

  async function read(id, offset, size, kind) {
    check();
    const copied = (size + 3) & ~3;
    let capacity = 256;
    while (capacity < copied) capacity *= 2;
    const idle = staging.get(capacity) || [];
    staging.set(capacity, idle);
    const target = idle.pop() || device.createBuffer({ size: capacity, usage: MAP_READ | COPY_DST });
    try {
      const copying = waiting.length ? await new Promise((done) => inOrder(null, () => done([copyOut(id, offset, target, copied)])))
        : [copyOut(id, offset, target, copied)];
      await hurried(copying[0]);
    } catch (error) {
      check();
      throw error;
    }
    if (scopes.size) await Promise.all(scopes);
    const bytes = new Uint8Array(target.getMappedRange(0, copied)).slice(0, size);
    target.unmap();
    if (idle.length < 4 && capacity <= 1 << 24) idle.push(target); else target.destroy();
    failed();
    return kind === "raw" ? bytes : narrow(bytes, kind);
  }

  // A read whose bytes, or whose error, go to a callable of Python's: not a promise, for which Python would take turns of its event loop.
  let answer = null;
  function readThen(id, offset, size, kind, number) {
    read(id, offset, size, kind).then((bytes) => answer(number, bytes, undefined), (error) => answer(number, undefined, error));
  }

  function copyOut(id, offset, target, bytes) {
    if (!buffers[id]) return Promise.reject(new Error("the device was lost before this was read"));
    begin();
    endPass();
    encoder.copyBufferToBuffer(buffers[id], starts[id] + offset, target, 0, bytes);
    pending++;
    flush();
    return target.mapAsync(1, 0, bytes);
  }

  // Chromium looks for finished work lazily; popping an error scope makes it look. So one is popped again and again meanwhile: H200, a value
  // after one small dispatch 0.36 ms instead of 0.56, a ResNet-18 forward 1.4 instead of 3.5. A software adapter needs the processor itself.
  let hurry = false, reads = 0, looking = false, channel = null, ticked = null;
  function tick() {
    if (!channel) {
      channel = new MessageChannel();
      channel.port1.onmessage = () => ticked();
      if (channel.port1.unref) channel.port1.unref();
    }
    return new Promise((resolve) => { ticked = resolve; channel.port2.postMessage(0); });
  }

  function hurried(promise) {
    if (!hurry) return promise;
    const finish = () => { reads--; };
    reads++;
    promise.then(finish, finish);
    if (!looking) look();
    return promise;
  }

  async function look() {
    looking = true;
    while (reads && !lost) {
      device.pushErrorScope("internal");
      await device.popErrorScope().catch(() => {});
      if (reads) await tick();
    }
    looking = false;
  }

  function failed() {
    if (!errors.length) return;
    const message = errors[0];
    errors = [];
    throw new Error(message);
  }

  async function synchronize() {
    check();
    while (compiling.size) await Promise.all(compiling);
    pump();
    flush();
    await queue.onSubmittedWorkDone();
    await Promise.all(scopes);
    check();
    failed();
  }

  // Kernels
  function layoutOf(access) {
    let found = layouts.get(access);
    if (!found) {
      const entries = [...access].map((mode, binding) => ({
        binding, visibility: COMPUTE, buffer: { type: mode === "w" ? "storage" : "read-only-storage" } }));
      found = { layout: device.createBindGroupLayout({ entries }), access, groups: new Map() };
      layouts.set(access, found);
    }
    return found;
  }

  function kernel(label, code, access, paramBytes) {
    check();
    const immediate = paramBytes > 0 && paramBytes <= immediateBytes;
    const bound = layoutOf(access);
    const key = `${access} ${immediate ? paramBytes : paramBytes > 0 ? "u" : ""}`;
    let layout = pipelineLayouts.get(key);
    if (!layout) {
      const bindGroupLayouts = paramBytes > 0 && !immediate ? [bound.layout, uniformLayout] : [bound.layout];
      layout = device.createPipelineLayout(immediate ? { bindGroupLayouts, immediateSize: paramBytes } : { bindGroupLayouts });
      pipelineLayouts.set(key, layout);
    }
    const id = freeKernels.length ? freeKernels.pop() : kernels.length;
    const made = kernels[id] = { pipeline: null, bound, immediate, paramBytes, label };
    const module = scoped("validation", [`compiling ${label}`], () => device.createShaderModule({ label, code }));
    const promise = device.createComputePipelineAsync({ label, layout, compute: { module, entryPoint: "main" } }).then((pipeline) => { made.pipeline = pipeline; },
      (error) => { made.pipeline = false; note("validation", error.message, [`compiling ${label}`]); }).finally(() => { compiling.delete(promise); pump(); });
    compiling.add(promise);
    return id;
  }

  function dropKernel(id) {
    kernels[id] = null;
    freeKernels.push(id);
  }

  // One dispatch's bind group; three small ids pack into one number, longer lists into a string
  function groupOf(bound, ids) {
    const n = ids.length;
    const key = n === 1 ? ids[0] : n === 2 ? ids[0] + ids[1] * 131072 : n === 3 && buffers.length < 131072
      ? ids[0] + ids[1] * 131072 + ids[2] * 17179869184 : ids.join();
    let group = bound.groups.get(key);
    if (!group) {
      if (bound.groups.size > 4096) bound.groups.clear();
      const entries = new Array(n), copies = [];
      for (let i = 0; i < n; i++) entries[i] = { binding: i, resource: resourceOf(bound.access, ids, i, copies) };
      group = { group: device.createBindGroup({ layout: bound.layout, entries }), copies };
      bound.groups.set(key, group);
    }
    if (group.copies.length) {
      endPass();
      for (const [from, to, bytes] of group.copies) encoder.copyBufferToBuffer(buffers[from], starts[from], to, 0, bytes);
      openPass();
    }
    return group.group;
  }

  // WebGPU refuses to read and write one buffer in one dispatch, be it in different parts: then the part read is copied out.
  function resourceOf(access, ids, i, copies) {
    const id = ids[i], slice = slices[id];
    if (!slice) return { buffer: buffers[id] };
    const { bytes } = slice;
    if (access[i] === "r" && ids.some((other, k) => access[k] === "w" && buffers[other] === buffers[id])) {
      const buffer = device.createBuffer({ size: bytes, usage: STORAGE | COPY_DST });
      copies.push([id, buffer, bytes]);
      return { buffer };
    }
    return { buffer: buffers[id], offset: starts[id], size: bytes };
  }

  // Encoding
  function begin() {
    if (!encoder) encoder = device.createCommandEncoder();
  }

  function openPass() {
    begin();
    if (pass) return;
    if (!profile || profile.count >= PROFILED) { pass = encoder.beginComputePass(); return; }
    pass = encoder.beginComputePass({ timestampWrites: {
      querySet: profile.queries, beginningOfPassWriteIndex: 2 * profile.count, endOfPassWriteIndex: 2 * profile.count + 1 } });
    profile.labels.push(null);
    profile.count++;
  }

  // While profiling each dispatch has a pass of its own, whose begin and end the GPU writes down.
  function alone(label) {
    endPass();
    openPass();
    if (profile.count < PROFILED || profile.labels[PROFILED - 1] === null) profile.labels[profile.count - 1] = label;
  }

  async function startProfile() {
    await synchronize();
    profile = { queries: device.createQuerySet({ type: "timestamp", count: 2 * PROFILED }), labels: [], count: 0 };
  }

  // JSON [[label, begin in ns, end in ns], ...] of the dispatches since startProfile()
  async function stopProfile() {
    if (waiting.length) await new Promise((done) => inOrder(null, done));
    const { queries, labels, count } = profile;
    flush();
    profile = null;
    if (!count) { queries.destroy(); return "[]"; }
    const bytes = 16 * count;
    const resolved = device.createBuffer({ size: bytes, usage: QUERY_RESOLVE | COPY_SRC });
    const target = device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST });
    begin();
    encoder.resolveQuerySet(queries, 0, 2 * count, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, target, 0, bytes);
    flush();
    await target.mapAsync(1);
    const times = new BigUint64Array(target.getMappedRange());
    const found = labels.map((label, n) => [label, Number(times[2 * n] - times[0]), Number(times[2 * n + 1] - times[0])]).filter(([label]) => label);
    for (const thing of [target, resolved, queries]) thing.destroy();
    return JSON.stringify(found);
  }

  function endPass() {
    if (pass) { pass.end(); pass = null; }
  }

  function flush() {
    if (!encoder || lost) return;
    endPass();
    if (slot) queue.writeBuffer(ring, 0, ringBytes, 0, slot * RING_SLOT);
    submit();
    encoder = null;
    pending = slot = 0;
    batch = [];
    submits++;
  }

  // A plan or program that WebGPU found valid once is valid: only new ones are watched (H200: an error scope delays the next read by 0.1 ms).
  function submit() {
    const fresh = batch.filter((entry) => !entry.valid);
    if (!fresh.length) { queue.submit([encoder.finish()]); return; }
    const names = [...new Set(fresh)].map((entry) => entry.label);
    scoped("validation", names.slice(-8), () => queue.submit([encoder.finish()]), () => {
      for (const entry of fresh) entry.valid = true;
    });
  }

  // steps: [{k: kernel, b: buffer slots, w: words, s: [word, scalar index, kind, ...], x, y}]
  function plan(text) {
    const description = JSON.parse(text);
    for (const step of description.steps) {
      step.kernel = kernels[step.k];
      step.words = Uint32Array.from(step.w);
      step.floats = new Float32Array(step.words.buffer);
      step.ids = new Array(step.b.length);
    }
    description.ready = false;
    const id = freePlans.length ? freePlans.pop() : plans.length;
    plans[id] = description;
    return id;
  }

  function dropPlan(id) {
    plans[id] = null;
    freePlans.push(id);
  }

  // run(plan, buffer ids..., scalars...)
  function run(id) {
    if (lost) check();
    const current = plans[id];
    if (waiting.length || !current.ready && !(current.ready = compiled(current.steps))) inOrder(current.steps, () => runNow(current, arguments));
    else runNow(current, arguments);
  }

  function runNow(current, args) {
    const steps = current.steps, first = 1 + current.buffers;
    for (let n = 0; n < steps.length; n++) {
      const step = steps[n], { kernel, b, s, words, ids } = step;
      if (!kernel.pipeline) continue;
      openPass();
      for (let i = 0; i < b.length; i++) ids[i] = args[1 + b[i]];
      for (let i = 0; i < s.length; i += 3) {
        if (s[i + 2] === 0) step.floats[s[i]] = args[first + s[i + 1]];
        else words[s[i]] = args[first + s[i + 1]];
      }
      const group = groupOf(kernel.bound, ids);
      if (profile) alone(kernel.label);
      pass.setPipeline(kernel.pipeline);
      pass.setBindGroup(0, group);
      if (kernel.immediate) pass.setImmediates(0, words);
      else if (kernel.paramBytes) {
        ringWords.set(words, slot * (RING_SLOT / 4));
        pass.setBindGroup(1, ringGroup, [slot * RING_SLOT]);
        slot++;
      }
      pass.dispatchWorkgroups(step.x, step.y);
      pending++;
      dispatches++;
      if (pending >= 256 || slot >= RING_SLOTS) flush();
    }
    if (encoder) batch.push(current);
  }

  // Programs: a flat list of dispatches over fixed buffers, replayed by one call
  // {steps: [{k, b: ids, w, x, y}], live: [[[step, word, kind], ...], ...], copies: [bytes], inputs: [[id, bytes]], outputs: [[id, bytes]]}
  function program(text) {
    const description = JSON.parse(text), size = Math.max(1, description.steps.length) * RING_SLOT;
    const words = new Uint32Array(size / 4);
    const steps = description.steps.map((step, n) => {
      const kernel = kernels[step.k], start = n * (RING_SLOT / 4);
      words.set(step.w, start);
      return { kernel, ids: step.b, x: step.x, y: step.y, offset: n * RING_SLOT, words: words.subarray(start, start + step.w.length) };
    });
    const ringed = steps.some((step) => step.kernel.paramBytes && !step.kernel.immediate);
    const uniforms = ringed ? device.createBuffer({ size, usage: UNIFORM | COPY_DST }) : null;
    if (ringed) queue.writeBuffer(uniforms, 0, words);
    const id = freePrograms.length ? freePrograms.pop() : programs.length;
    programs[id] = { ...description, steps, words, floats: new Float32Array(words.buffer), uniforms, group: ringed ? uniformGroup(uniforms) : null };
    return id;
  }

  function dropProgram(id) {
    if (waiting.length) inOrder(null, () => dropNow(id));
    else dropNow(id);
  }

  function dropNow(id) {
    flush();
    if (programs[id].uniforms) programs[id].uniforms.destroy();
    programs[id] = null;
    freePrograms.push(id);
  }

  // Whether a program's kernels are all compiled.
  function ready(id) {
    const current = programs[id];
    return current.ready || (current.ready = compiled(current.steps));
  }

  // replay(program, times, (buffer id, byte offset, bytes to the next time's) per input and per output, live scalars of each time...)
  function replay(id, times) {
    check();
    const current = programs[id];
    if (waiting.length || !ready(id)) inOrder(current.steps, () => replayNow(current, times, arguments));
    else replayNow(current, times, arguments);
  }

  // The GPU begins with a long program's first dispatches while the others are encoded.
  const EARLY = 8;

  function replayNow(current, times, args) {
    const first = 2 + 3 * (current.inputs.length + current.outputs.length);
    for (let time = 0; time < times; time++) replayOnce(current, args, time, first + time * current.live.length);
  }

  function replayOnce(current, args, time, scalars) {
    const { inputs, outputs, live, words, floats } = current;
    for (let n = 0; n < live.length; n++) {
      const value = args[scalars + n];
      for (const [step, word, kind] of live[n]) (kind === 0 ? floats : words)[step * (RING_SLOT / 4) + word] = value;
    }
    if (live.length && current.uniforms) { flush(); queue.writeBuffer(current.uniforms, 0, words); }
    begin();
    if (inputs.length) endPass();
    const outside = (n) => [args[2 + 3 * n], starts[args[2 + 3 * n]] + args[3 + 3 * n] + time * args[4 + 3 * n]];
    for (let n = 0; n < inputs.length; n++) {
      const [id, offset] = outside(n), own = inputs[n][0];
      encoder.copyBufferToBuffer(buffers[id], offset, buffers[own], starts[own], inputs[n][1]);
    }
    openPass();
    let next = current.valid ? EARLY : Infinity, encoded = 0;
    for (const step of current.steps) {
      const { kernel } = step;
      if (!kernel.pipeline) continue;
      if (encoded++ === next) { flush(); openPass(); next *= 4; }
      const group = groupOf(kernel.bound, step.ids);
      if (profile) alone(kernel.label);
      pass.setPipeline(kernel.pipeline);
      pass.setBindGroup(0, group);
      if (kernel.immediate) pass.setImmediates(0, step.words);
      else if (kernel.paramBytes) pass.setBindGroup(1, current.group, [step.offset]);
      pass.dispatchWorkgroups(step.x, step.y);
    }
    endPass();
    for (let n = 0; n < outputs.length; n++) {
      const own = outputs[n][0], [id, offset] = outside(inputs.length + n);
      encoder.copyBufferToBuffer(buffers[own], starts[own], buffers[id], offset, outputs[n][1]);
    }
    batch.push(current);
    dispatches += current.steps.length;
    flush();
  }

  function counters() {
    return JSON.stringify({ submits, dispatches, kernels: kernels.length - freeKernels.length, plans: plans.length - freePlans.length,
      buffers: buffers.filter(Boolean).length, programs: programs.filter(Boolean).length });
  }

  function destroy() {
    flush();
    device.destroy();
  }

  return { start, createBuffer, destroyBuffer, gather, part, write, read, synchronize, kernel, dropKernel, plan, dropPlan, run, program, dropProgram, ready, replay, flush,
           counters, setHurry: (value) => { hurry = value; }, readThen, answerTo: (callable) => { answer = callable; }, startProfile, stopProfile, recall, remember, destroy };
})()
