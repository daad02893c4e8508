"""The numpy device: plain CPython, browsers without WebGPU, and the oracle of the tests."""
from __future__ import annotations

import time

from ..errors import DeviceError
from . import Backend, Storage


class Cpu(Backend):
    """Storage buffers are flat numpy arrays; a plan runs its op's numpy reference."""
    type = "cpu"
    software = True
    name = "numpy"

    def __init__(self):
        super().__init__()
        try:
            import numpy
        except ModuleNotFoundError as error:
            raise DeviceError("the cpu device computes with numpy, which is not loaded: in Pyodide, await pyodide.loadPackage('numpy') first") from error
        self.np = numpy
        self.events = None
        self.quiet = numpy.errstate(all="ignore")

    def numpy_dtype(self, dtype):
        return self.np.dtype(dtype.name)

    def allocate(self, dtype, numel) -> Storage:
        return Storage(self.form(dtype, numel), self.np.empty(numel, dtype.name))

    def launch(self, plan, storages, scalars) -> list:
        outputs = [Storage(form, self.np.empty(form.numel, form.dtype.name)) for form in plan.forms]
        self.run(plan, storages, outputs, scalars)
        return outputs

    def write(self, storage, offset, data) -> None:
        """Copy bytes in the logical dtype (little-endian) to elements from ``offset`` on."""
        values = self.np.frombuffer(data, storage.dtype.name)
        storage.buffer[offset:offset + values.size] = values

    def read(self, storage) -> bytes:
        return storage.buffer.tobytes()

    @staticmethod
    def wait(awaitable):
        """The result of an awaitable that waits for nothing."""
        try:
            awaitable.send(None)
        except StopIteration as done:
            return done.value

    def read_async(self, storage):
        """An awaitable of what the storage holds now."""
        data = storage.buffer.tobytes()

        async def finish():
            return data
        return finish()

    def array(self, storage, meta):
        """A numpy view of a tensor."""
        base, size = storage.buffer, storage.buffer.itemsize
        if not meta.numel:
            return self.np.empty(meta.shape, base.dtype)
        return self.np.ndarray(meta.shape, base.dtype, base, meta.offset * size, [s * size for s in meta.strides])

    def run(self, plan, inputs, outputs, scalars) -> None:
        begun = time.perf_counter_ns()
        np, op = self.np, plan.op
        arrays = iter([self.array(s, m) for s, m in zip(inputs, plan.inputs)])
        numbers = iter(scalars)
        operands = [None if is_tensor is None else next(arrays) if is_tensor else next(numbers) for is_tensor in plan.layout]
        named = dict(zip(plan.scalar_names, numbers))
        with np.errstate(all="ignore"):
            results = op.reference(np, *operands, **plan.params, **named)
            if not isinstance(results, tuple):
                results = (results,)
            views = [self.array(s, m) for s, m in zip(outputs, plan.outputs)]
            # an output may share memory with an input: numpy.copyto handles overlap
            for view, result in zip(views, results):
                np.copyto(view, result, casting="unsafe")
        if self.events is not None:
            self.events.append((op.name, begun, time.perf_counter_ns()))

    async def start_profile(self) -> None:
        """Note from here on when each op begins and ends."""
        self.events = []

    async def stop_profile(self) -> list:
        """[(label, begin, end), ...] in nanoseconds."""
        found, self.events = self.events, None
        return found

    def program(self, calls, inputs, outputs, live):
        """Recorded calls as they are: a replay runs their references."""
        return calls, inputs, outputs, {id(box): k for k, box in enumerate(live)}

    def ready(self, handle) -> bool:
        """There is nothing to compile."""
        return True

    def replay(self, handle, times, sources, targets, values) -> None:
        """Run a program ``times`` times; sources and targets are (storage, element offset, elements to the next time's), ``values`` the live
        scalars, time after time."""
        live = len(handle[3])
        for turn in range(times):
            now = lambda places: [(s, offset + turn * step) for s, offset, step in places]  # noqa: B023, E731
            self._replay_once(handle, now(sources), now(targets), values[turn * live:(turn + 1) * live])

    def _replay_once(self, handle, sources, targets, values):
        calls, inputs, outputs, live = handle
        for own, (source, offset) in zip(inputs, sources):
            own.buffer[:] = source.buffer[offset:offset + own.numel]
        for plan, storages, scalars in calls:
            split = len(plan.inputs)
            self.run(plan, storages[:split], storages[split:split + len(plan.outputs)],
                     [values[live[id(s)]] if id(s) in live else s for s in scalars])
        for own, (target, offset) in zip(outputs, targets):
            target.buffer[offset:offset + own.numel] = own.buffer

    def drop(self, handle) -> None:
        pass

    def forget(self, plan) -> None:
        pass

    def flush(self) -> None:
        pass

    def synchronize(self) -> None:
        pass
