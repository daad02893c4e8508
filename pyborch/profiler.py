"""profile: the time of every op, as a table and as a chart."""
from __future__ import annotations

import json

from . import devices

ROWS = 24
COLORS = ("#1864ab", "#d9480f", "#2b8a3e", "#862e9c", "#c2255c", "#5c940d", "#0b7285", "#e67700")


class profile:
    """Context manager: what ran inside, and how long each op took on the device (as ``torch.profiler.profile``).

    On WebGPU the GPU's own clock is read (timestamp queries) for the first 2,048 dispatches; browsers round it to 0.1 ms unless their
    WebGPU developer features are on. On the cpu device Python's clock is read around each op. Where the page cannot wait (no JSPI):
    ``async with``. DeviceError where the adapter has no timestamps.

        with pyborch.profile() as found:
            step(x, y)
        print(found)                      # a table, the costliest first
        found.save("step.html")           # the chart; in a notebook or page: the object itself
    """

    def __init__(self, device=None):
        self._backend = devices.backend(device)
        self.events: list = []

    def __enter__(self):
        self._backend.wait(self._backend.start_profile())
        return self

    def __exit__(self, *error):
        self.events = [tuple(event) for event in self._backend.wait(self._backend.stop_profile())]

    async def __aenter__(self):
        await self._backend.start_profile()
        return self

    async def __aexit__(self, *error):
        self.events = [tuple(event) for event in await self._backend.stop_profile()]

    @property
    def total_ms(self) -> float:
        """From the first begin to the last end, in milliseconds."""
        return (max(e[2] for e in self.events) - min(e[1] for e in self.events)) / 1e6 if self.events else 0.0

    def averages(self) -> list:
        """[(name, count, milliseconds altogether), ...], the costliest first."""
        found: dict = {}
        for name, begin, end in self.events:
            count, time = found.get(name, (0, 0))
            found[name] = count + 1, time + end - begin
        return sorted(((name, count, time / 1e6) for name, (count, time) in found.items()), key=lambda row: -row[2])

    def table(self, row_limit: int = ROWS) -> str:
        """The costliest ops as text: share, milliseconds, calls, name."""
        rows = self.averages()
        busy = sum(row[2] for row in rows) or 1.0
        lines = [f"{len(self.events)} dispatches, {busy:.3f} ms of work in {self.total_ms:.3f} ms on {self._backend.name}", "  share        ms  calls  op"]
        lines += [f"{time / busy:7.1%} {time:9.3f} {count:6}  {name}" for name, count, time in rows[:row_limit]]
        rest = rows[row_limit:]
        if rest:
            time = sum(row[2] for row in rest)
            lines.append(f"{time / busy:7.1%} {time:9.3f} {sum(row[1] for row in rest):6}  ({len(rest)} more)")
        return "\n".join(lines)

    __repr__ = table

    def export_chrome_trace(self, path) -> None:
        """Write the events as JSON for chrome://tracing and Perfetto."""
        events = [{"name": name, "ph": "X", "ts": begin / 1e3, "dur": (end - begin) / 1e3, "pid": 0, "tid": 0} for name, begin, end in self.events]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)

    def save(self, path) -> None:
        """Write the chart as a page of its own."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"<!doctype html><meta charset=utf-8><title>profile</title><body style='font:14px system-ui;margin:2em'>{self._repr_html_()}")

    def _repr_html_(self) -> str:
        """A flame chart: the whole above, kinds of ops in the middle, every dispatch below; hover for names and times."""
        if not self.events:
            return "<p>nothing ran</p>"
        first, span = min(e[1] for e in self.events), max(self.total_ms, 1e-6) * 1e6
        kinds = {name: COLORS[k % len(COLORS)] for k, (name, _, _) in enumerate(self.averages())}
        bars = [_bar(0, span, 0, f"all: {self.total_ms:.3f} ms", "#adb5bd", span)]
        for name, begin, end in _runs(self.events):
            bars.append(_bar(begin - first, end - begin, 1, f"{name}: {(end - begin) / 1e6:.3f} ms", "#ced4da", span))
        for name, begin, end in self.events:
            bars.append(_bar(begin - first, end - begin, 2, f"{name}: {(end - begin) / 1e3:.1f} us", kinds[name], span))
        legend = "".join(f"<div><span style='display:inline-block;width:10px;height:10px;background:{kinds[name]}'></span> {time:.3f} ms, "
                         f"{count} x {name}</div>" for name, count, time in self.averages()[:ROWS])
        return (f"<svg viewBox='0 0 1000 96' width='100%' preserveAspectRatio='none' style='height:160px'>{''.join(bars)}</svg>"
                f"<div style='font-size:12px;columns:2'>{legend}</div>")


def _runs(events):
    """Neighbouring events of one kind (the first word of their names) as one."""
    found: list = []
    for name, begin, end in events:
        kind = name.split("+")[0].split(" ")[0]
        if found and found[-1][0] == kind:
            found[-1][2] = end
        else:
            found.append([kind, begin, end])
    return found


def _bar(at, length, row, title, color, span):
    width = max(length / span * 1000, 0.3)
    return f"<rect x='{at / span * 1000:.2f}' y='{row * 32}' width='{width:.2f}' height='30' fill='{color}'><title>{title}</title></rect>"
