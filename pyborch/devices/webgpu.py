"""navigator.gpu over Pyodide's FFI: the only module that imports js or pyodide."""
from __future__ import annotations

import asyncio
import json
import os
import weakref

from pyodide.code import run_js  # type: ignore[import-not-found]
from pyodide.ffi import JsException, can_run_sync, create_proxy, run_sync  # type: ignore[import-not-found]

from ..dtypes import word_of
from ..errors import DeviceError, DeviceLost, SyncReadError
from . import Backend, Form, Storage, forget_backend
from .memory import Pool, size_class
from .waiting import Answers

LIMITS = ("maxBufferSize maxStorageBufferBindingSize maxStorageBuffersPerShaderStage maxComputeWorkgroupStorageSize "
          "maxComputeInvocationsPerWorkgroup maxComputeWorkgroupSizeX maxComputeWorkgroupSizeY maxComputeWorkgroupsPerDimension "
          "maxImmediateSize")
FEATURES = "shader-f16 subgroups timestamp-query subgroup-size-control chromium-experimental-subgroup-matrix"
SOFTWARE = ("swiftshader", "llvmpipe", "lavapipe", "software", "basic render")
PLAN_LIMIT = 4096
KINDS = "fiu"        # of run-time scalars, by the bridge's numbers


class GpuStorage(Storage):
    """A pooled GPU buffer; the last reference gone returns it to the pool."""
    __slots__ = ()

    def __del__(self):
        self.form.idle.append(self.buffer)


class Place:
    """A part of a storage's buffer, as a buffer of its own."""
    __slots__ = ("whole", "offset", "nbytes", "buffer", "bridge")

    def __init__(self, whole, offset, nbytes, bridge):
        self.whole, self.offset, self.nbytes, self.bridge = whole, offset, nbytes, bridge
        self.buffer = bridge.part(whole.buffer, offset, nbytes)

    def __del__(self):
        self.bridge.destroyBuffer(self.buffer)


class Arena:
    """A buffer made of others; ``holds()`` while they still lie there."""
    __slots__ = ("buffer", "members", "homes", "device", "__weakref__")

    def __init__(self, buffer, members, device):
        self.buffer, self.members, self.device = buffer, members, device
        self.homes = [device.homes[member] for member in members]

    def holds(self) -> bool:
        return list(map(self.device.homes.get, self.members)) == self.homes


def start() -> WebGpu:
    """Start WebGPU, waiting through JSPI; SyncReadError where the browser cannot wait."""
    if not can_run_sync():
        raise SyncReadError("WebGPU starts asynchronously and this page cannot wait (no JSPI here): `await pyborch.init()` first")
    return run_sync(start_async())


async def start_async() -> WebGpu:
    with open(os.path.join(os.path.dirname(__file__), "bridge.js"), encoding="utf-8") as file:
        bridge = run_js(file.read())
    try:
        info = json.loads(await bridge.start(LIMITS, FEATURES))
    except JsException as error:
        raise DeviceError(f"WebGPU: {getattr(error, 'message', error)}") from None
    found = WebGpu(bridge, info)
    await found.recall()
    return found


def _matrices(info) -> set:
    """Element types that the device multiplies by subgroup matrices in the form that kernels here are written for."""
    needed = {"shader-f16", "subgroups", "chromium-experimental-subgroup-matrix"} <= set(info["features"]) and "buffer_view" in info["language"]
    same = (info["subgroupMinSize"], info["subgroupMaxSize"]) == (32, 32)
    return {"f16"} if needed and same and ["f16", "f32", 16, 16, 16] in info["matrices"] else set()


class WebGpu(Backend):
    """The GPU device. ``info`` says which adapter, limits and features; ``stats()`` counts memory and work."""
    type = "webgpu"

    def __init__(self, bridge, info):
        super().__init__()
        self.bridge, self.info = bridge, info
        self.limits, self.features = info["limits"], set(info["features"])
        words = " ".join(info[k] for k in ("vendor", "architecture", "device", "description")).strip()
        self.name = info["description"] or words or "unknown adapter"
        self.software = info["fallback"] or any(word in words.lower() for word in SOFTWARE)
        bridge.setHurry(not self.software)
        self._answers = Answers()
        bridge.answerTo(create_proxy(self._answers.take))
        self.has_f16 = "shader-f16" in self.features
        self.matrices = _matrices(info)
        self.pool = Pool(bridge.createBuffer, bridge.destroyBuffer)
        self.homes: dict = {}        # buffer -> (arena, offset, size of the arena, own size)
        self._arenas: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # those that programs use
        self._retired: list = []     # parts of arenas that no storage uses any more
        self._run, self._replay = bridge.run, bridge.replay
        self._kernel_text: dict = {}
        self.plan_count = 0

    # memory
    def make_form(self, dtype, numel) -> Form:
        """DeviceError where one buffer cannot hold it, TypeError where the device lacks the dtype."""
        if not dtype.wgsl:
            raise TypeError("Cannot convert a tensor to float64 dtype on webgpu as WGSL doesn't support float64. Please use float32 instead.")
        if dtype.wgsl == "f16" and not self.has_f16:
            raise TypeError(f"webgpu: this adapter ({self.name}) has no shader-f16, so there are no float16 tensors on it; use float32")
        nbytes = numel * (2 if dtype.wgsl == "f16" else 4)
        if nbytes > self.limits["maxStorageBufferBindingSize"]:
            raise DeviceError(f"webgpu: a tensor of {numel} {dtype.name} elements needs {nbytes} bytes in one buffer, "
                              f"this adapter allows {self.limits['maxStorageBufferBindingSize']}")
        size = size_class(nbytes)
        return Form(self, dtype, numel, size, self.pool.idle(size))

    def allocate(self, dtype, numel) -> Storage:
        """Memory for ``numel`` elements."""
        form = self.form(dtype, numel)
        return GpuStorage(form, form.idle.pop() if form.idle else self._new_buffer(form.size))

    def _new_buffer(self, size):
        self._reap()
        try:
            return self.pool.create(size)
        except JsException as error:
            raise self._translate(error) from None

    def _reap(self) -> None:
        """Destroy parts of arenas that came free: they are no buffers for anything else."""
        while self._retired:
            buffer = self._retired.pop()
            self.pool.retire(self.homes.pop(buffer)[3])
            self.bridge.destroyBuffer(buffer)

    def _gathered(self, storages):
        """([(offset, size), ...], total size, the buffer in which the storages lie so already or None)."""
        places, total = [], 0
        for s in storages:
            places.append((total, s.form.size))
            total += s.form.size
        homes = [self.homes.get(s.buffer) for s in storages]
        whole = homes[0][0] if homes[0] else None
        return places, total, whole if whole is not None and homes == [(whole, offset, total, size) for offset, size in places] else None

    def can_gather(self, storages) -> bool:
        """Whether gather() would take nothing out of a buffer that a program uses."""
        return self._gathered(storages)[2] is not None or not any(s.buffer in self.homes and self.homes[s.buffer][0] in self._arenas for s in storages)

    def gather(self, storages) -> Arena:
        """One buffer in which the storages lie one after the other, each in its size class; they move there unless they do already."""
        self._reap()
        places, total, whole = self._gathered(storages)
        if whole is None:
            whole = self.bridge.gather(total, *[n for s, place in zip(storages, places) for n in (s.buffer, *place)])
            for s, (offset, size) in zip(storages, places):
                self.homes[s.buffer] = whole, offset, total, size
                s.form = Form(self, s.form.dtype, s.form.numel, size, self._retired)
        arena = self._arenas.get(whole)
        if arena is None:
            arena = self._arenas[whole] = Arena(whole, [s.buffer for s in storages], self)
        return arena

    def part(self, storage, offset, words):
        """``words`` 4-byte words of a storage from ``offset`` on, to be bound as a buffer."""
        whole = offset == 0 and words == storage.numel
        return storage if whole else Place(storage, offset * 4, words * 4, self.bridge)

    def span(self, storage):
        """(the buffer that a storage, Place or Arena lies in, its bytes, the first byte there, bytes)."""
        if isinstance(storage, Place):
            return storage.whole.buffer, storage.whole.form.size, storage.offset, storage.nbytes
        if isinstance(storage, Arena):
            total = storage.homes[0][2]
            return storage.buffer, total, 0, total
        home = self.homes.get(storage.buffer)
        if home is not None:
            whole, offset, total, size = home
            return whole, total, offset, size
        return storage.buffer, storage.form.size, 0, storage.form.size

    def write(self, storage, offset, data) -> None:
        """Copy bytes in the logical dtype to elements from ``offset`` on; OverflowError for int64 values outside int32."""
        kind, size = self._transfer(storage.dtype)
        try:
            self.bridge.write(storage.buffer, offset * size, data, kind)
        except JsException as error:
            if "int64 value" in str(error):
                raise OverflowError(f"webgpu keeps int64 as 32 bits (-2**31 .. 2**31-1): {error}") from None
            raise self._translate(error) from None

    @staticmethod
    def _transfer(dtype):
        raw = dtype.wgsl == "f16" or dtype.itemsize == 4
        return ("raw" if raw else dtype.code), (2 if dtype.wgsl == "f16" else 4)

    def wait(self, awaitable):
        """The result of an awaitable; SyncReadError where the browser cannot wait."""
        if not can_run_sync():
            awaitable.close()
            raise SyncReadError("this has to wait for the GPU and this browser cannot wait here (no JSPI): use `async with` or `await`")
        return run_sync(awaitable)

    def read(self, storage) -> bytes:
        if not can_run_sync():
            raise SyncReadError("reading a value has to wait for the GPU and this browser cannot wait here (no JSPI): use "
                                "`await t.item_async()`, `await t.tolist_async()` or `await t.numpy_async()`")
        if not storage.numel:
            return b""
        number, answer = self._answers.expect()
        self.bridge.readThen(*self._span(storage), number)
        run_sync(answer)
        if answer.error is not None:
            raise self._translate(answer.error)
        return answer.value.to_bytes()

    def read_async(self, storage):
        """An awaitable of what the storage holds now: the read begins here."""
        return self._finished(self.bridge.read(*self._span(storage)) if storage.numel else None)

    def _span(self, storage):
        """What the bridge reads of a storage."""
        kind, size = self._transfer(storage.dtype)
        return storage.buffer, 0, storage.numel * size, kind

    async def _finished(self, reading) -> bytes:
        try:
            return (await reading).to_bytes() if reading is not None else b""
        except JsException as error:
            raise self._translate(error) from None

    # work
    def prepare(self, plan) -> None:
        """Compile a plan's kernels and hand its dispatches to the bridge."""
        steps = [self.encode(step) for step in plan.steps]
        buffers = plan.bound + len(plan.temps)
        plan.label = plan.describe()
        plan.handle = self.bridge.plan(json.dumps({"label": plan.label, "buffers": buffers, "steps": steps}))

    def forget(self, plan) -> None:
        """Drop a plan from the bridge."""
        if plan.handle is not None:
            self.bridge.dropPlan(plan.handle)

    def encode(self, step) -> dict:
        """A step as the bridge wants it; ``s`` lists run-time scalars as flat (word, index, kind) triples."""
        words, scalars = [], []
        for position, word in enumerate(step.words):
            if not isinstance(word, (int, float)):
                scalars += [position, word.index, KINDS.index(word.kind)]
                word = 0
            words.append(word_of(word))
        x, y = step.grid()
        return {"k": self._kernel(step.kernel, len(words)), "b": step.slots, "w": words, "s": scalars, "x": x, "y": y}

    def _kernel(self, kernel, words) -> int:
        found = kernel.ids.get(self)
        if found is None:
            text = kernel.text
            if words:
                immediate = words * 4 <= self.info["immediateBytes"]
                space = "var<immediate>" if immediate else "@group(1) @binding(0) var<uniform>"
                text = f"{text}\n{space} p: Params;\n"
            found = kernel.ids[self] = self.bridge.kernel(kernel.label, text, kernel.access, words * 4)
        return found

    def drop_kernel(self, number) -> None:
        """Give a pipeline back."""
        self.bridge.dropKernel(number)

    def launch(self, plan, storages, scalars) -> list:
        """Run a plan into new storages: one FFI call."""
        outputs = []
        for form in plan.forms:
            idle = form.idle
            outputs.append(GpuStorage(form, idle.pop() if idle else self._new_buffer(form.size)))
        if plan.steps:
            if plan.temps:
                self.run(plan, storages, outputs, scalars)
            else:
                try:
                    self._run(plan.handle, *[s.buffer for s in storages], *[s.buffer for s in outputs], *scalars)
                except JsException as error:
                    raise self._translate(error) from None
        return outputs

    def run(self, plan, inputs, outputs, scalars) -> None:
        """Run a plan that writes given storages."""
        if not plan.steps:
            return
        temps = [self.allocate(m.dtype, m.numel) for m in plan.temps]
        try:
            self._run(plan.handle, *[s.buffer for s in (*inputs, *outputs, *temps)], *scalars)
        except JsException as error:
            raise self._translate(error) from None

    # programs
    def program(self, work, inputs, outputs, live) -> int:
        """A handle of recorded work [(step, its storages, scalars), ...]; inputs and outputs are storages copied at each replay, ``live`` the
        scalars read anew."""
        steps, patches = [], {id(box): [] for box in live}
        for step, storages, scalars in work:
            encoded = self.encode(step)
            encoded["b"] = [s.buffer for s in storages]
            triples = encoded.pop("s")
            for word, index, kind in zip(triples[::3], triples[1::3], triples[2::3]):
                value = scalars[index]
                if id(value) in patches:
                    patches[id(value)].append([len(steps), word, kind])
                else:
                    encoded["w"][word] = word_of(value, KINDS[kind])
            steps.append(encoded)
        sizes = [[[s.buffer, self.copy_bytes(s.dtype, s.numel)] for s in group] for group in (inputs, outputs)]
        return self.bridge.program(json.dumps({"label": f"compiled step of {len(steps)} dispatches", "steps": steps, "inputs": sizes[0],
                                               "outputs": sizes[1], "live": list(patches.values())}))

    @staticmethod
    def copy_bytes(dtype, numel) -> int:
        """Bytes of ``numel`` stored elements, in whole words."""
        return numel * 4 if dtype.wgsl != "f16" else (2 * numel + 3) & ~3

    def ready(self, handle) -> bool:
        """Whether a program's kernels are compiled; lets the browser go on with that where it can."""
        if not self.bridge.ready(handle) and can_run_sync():
            run_sync(asyncio.sleep(0))
        return self.bridge.ready(handle)

    def replay(self, handle, times, sources, targets, values) -> None:
        """Run a program ``times`` times: one FFI call. Sources and targets are (storage, element offset, elements to the next time's);
        ``values`` are the live scalars, time after time."""
        places = []
        for s, offset, step in (*sources, *targets):
            size = 2 if s.dtype.wgsl == "f16" else 4
            places += (s.buffer, offset * size, step * size)
        try:
            self._replay(handle, times, *places, *values)
        except JsException as error:
            raise self._translate(error) from None

    def drop(self, handle) -> None:
        """Forget a program."""
        self.bridge.dropProgram(handle)

    def flush(self) -> None:
        """Submit what has been appended so far."""
        self.bridge.flush()

    def synchronize(self) -> None:
        """Wait until the GPU has finished; raises what went wrong meanwhile."""
        run_sync(self.synchronize_async())

    async def synchronize_async(self) -> None:
        try:
            await self.bridge.synchronize()
        except JsException as error:
            raise self._translate(error) from None

    async def start_profile(self) -> None:
        """Have the GPU write down when each dispatch begins and ends; DeviceError where it cannot."""
        if "timestamp-query" not in self.features:
            raise DeviceError(f"profile: this adapter ({self.name}) has no timestamp-query, so the time of its work cannot be taken")
        if self.profiling:
            raise DeviceError("profile: one is running already; leave it before the next begins")
        self.profiling = True
        await self.bridge.startProfile()

    async def stop_profile(self) -> list:
        """[(label, begin, end), ...] in nanoseconds."""
        self.profiling = False
        return json.loads(await self.bridge.stopProfile())

    async def recall(self) -> None:
        """Take back what the tuner measured on this adapter in other visits."""
        text = await self.bridge.recall(f"tuned {self.name}")
        if text:
            self.tuned.update(json.loads(text))

    def remember(self) -> None:
        """Keep what the tuner measured for other visits; where the browser keeps nothing it is measured again."""
        self.bridge.remember(f"tuned {self.name}", json.dumps(self.tuned))

    def stats(self) -> dict:
        self._reap()
        return {**self.pool.stats(), **json.loads(self.bridge.counters())}

    def _translate(self, error) -> Exception:
        text = str(getattr(error, "message", error))
        if "device lost" in text or "evice is lost" in text or "destroyed device" in text:
            forget_backend(self)
            return DeviceLost(f"webgpu: the device was lost ({text}); its tensors are gone. The next tensor starts a new device: load your "
                              "checkpoint again")
        return DeviceError(f"webgpu: {text}")
