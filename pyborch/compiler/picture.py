"""A program as a picture: a box for each dispatch, lines for the values that flow between them."""
from __future__ import annotations

from html import escape

ROW, WIDE, LANES = 26, 430, 14
KINDS = (("gemm", "#d0ebff"), ("convolution", "#d0ebff"), ("norm", "#e5dbff"), ("step", "#ffe8cc"), ("", "#e9ecef"))


class Picture:
    """SVG of a program; notebooks and pages show it by itself."""

    def __init__(self, program):
        self.program = program

    def _boxes(self):
        """[(label, values read, values written)] in order."""
        found = []
        for step, values, _ in self.program.lowered or ():
            pairs = [(v, way) for v, way in zip(values, step.kernel.access)]
            sides = [[n for v, w in pairs if w == way for n in (v if type(v) is tuple else (v,))] for way in "rw"]
            found.append((step.kernel.label, *sides))
        return found

    def svg(self) -> str:
        """The picture's text."""
        boxes, writer, parts = self._boxes(), {}, []
        for i, (label, reads, writes) in enumerate(boxes):
            y = 4 + i * ROW
            color = next(color for word, color in KINDS if word in label)
            parts.append(f"<rect x='4' y='{y}' width='{WIDE}' height='{ROW - 6}' rx='4' fill='{color}'><title>{escape(label)}</title></rect>"
                         f"<text x='12' y='{y + 14}' font-size='12'>{i}  {escape(label[:60])}</text>")
            for source in sorted({writer[v] for v in (*reads, *writes) if v in writer}):
                if source < i:
                    parts.append(self._line(source, i))
            writer.update(dict.fromkeys(writes, i))
        return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDE + 180}' height='{8 + len(boxes) * ROW}' font-family='system-ui'>"
                f"{''.join(parts)}</svg>")

    @staticmethod
    def _line(source, target):
        a, b = (4 + n * ROW + (ROW - 6) / 2 for n in (source, target))
        bend = WIDE + 4 + min(170, 8 + 6 * (target - source))
        return (f"<path d='M{WIDE + 4} {a + 3} C{bend} {a} {bend} {b} {WIDE + 4} {b - 3}' fill='none' stroke='#868e96' stroke-width='1'>"
                f"<title>{source} to {target}</title></path>")

    def _repr_html_(self) -> str:
        return f"<div style='max-height:600px;overflow:auto'>{self.svg()}</div>"

    def save(self, path) -> None:
        """Write the SVG to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg())
