"""The kernels a matrix product can run as, and which one a device and size get.

A variant says how many workgroups it takes, what its WGSL file is told, and what is put into that file's text.
"""
from __future__ import annotations

from collections import namedtuple

TILES = ((16, 8, 8, 16, True, 1), (16, 8, 8, 16, False, 1), (16, 4, 8, 16, True, 1), (16, 4, 4, 16, True, 1), (16, 8, 4, 16, False, 1),
         (8, 8, 8, 8, True, 1), (8, 8, 8, 8, True, 2), (8, 8, 8, 8, True, 4), (8, 8, 8, 16, True, 2), (8, 8, 4, 16, True, 2), (8, 8, 4, 16, True, 4),
         (8, 4, 4, 16, True, 1), (8, 4, 4, 16, True, 2), (8, 4, 4, 16, True, 4), (4, 4, 4, 16, True, 8))   # what the tuner tries
PROCESSORS = 132     # of the H200 that the choice of tiles was measured on
LINES = 4            # rows up to which memory alone decides
MATRICES_FROM = 1 << 24  # multiply-adds from which on subgroup matrices pay
# A thread stores its results itself, or, where much follows the product, a row at a time through workgroup memory: a loop that the driver
# does not unroll would move the sums out of registers (H200: a convolution with a residual 0.67 ms instead of 0.05).
STORE_EACH = """for (var m = 0u; m < TR; m++) {
    let row = first_row + m / 4u * (4u * SIDE) + ty * 4u + m % 4u;
    if (row < p.rows) {
      let start = y_row(batch, row);
      let bias_start = bias_row(batch, row);
      for (var n = 0u; n < TC; n++) {
        let col = first_col + n / 4u * (4u * SIDE) + tx * 4u + n % 4u;
        if (col < p.cols) { put(split, start + y_col(col), bias_start + bias_col(col), c[m][n]); }
      }
    }
  }"""
STORE_ROW = """for (var n = 0u; n < TC / 4u; n++) {
    tile_b[(n * SLICES + slice) * THREADS + lid] = bitcast<vec4<ELEMENT>>(vec4<ACC>(c[ROW][n * 4u], c[ROW][n * 4u + 1u], c[ROW][n * 4u + 2u], c[ROW][n * 4u + 3u]));
  }
  workgroupBarrier();
  store_rows(ROWu, first_row, first_col, batch, split, all_lid);
  workgroupBarrier();"""
PUT_ONE = "put(split, y_row(batch, row) + y_col(col), bias_row(batch, row) + bias_col(col), sum);"
# A thread meets the same column in four neighbouring rows, one after the other.
PUT_FOUR = """kept[j / (THREADS * SLICES)][m % 4u] = sum;
      if (m % 4u == 3u) {
        let at = vec4<i32>(y_row(batch, row - 3u), y_row(batch, row - 2u), y_row(batch, row - 1u), y_row(batch, row)) + y_col(col);
        let bias_at = vec4<i32>(bias_row(batch, row - 3u), bias_row(batch, row - 2u), bias_row(batch, row - 1u), bias_row(batch, row)) + bias_col(col);
        put_four(split, at, bias_at, kept[j / (THREADS * SLICES)]);
      }"""
STORE_PART = """{parts}
  workgroupBarrier();
  store_rows(first_row + own_row + {row}u, first_col + own_col, batch, split, lid);
  workgroupBarrier();"""


def _lines(count, line):
    """line(0), line(1), ..."""
    return "\n  ".join(line(i) for i in range(count))


class Threads(namedtuple("Threads", "rows")):
    """A thread computes ``rows`` rows of 4 columns in registers."""
    __slots__ = ()
    file, element_wise, step, head = "gemm_threads", True, 1, ""
    when = "software adapters, and everywhere products of one or two rows that Lines does not take"

    stored = staticmethod(lambda dtype: dtype.wgsl)

    def groups(self, size):
        return -(-size.batches * -(-size.rows // self.rows) * (-(-size.cols // 16) * 4) // 64)

    def consts(self, a, b):
        return {"ROWS": self.rows}

    def filled(self, text, result, a, b):
        return text


class Tiles(namedtuple("Tiles", "side rows cols depth ahead slices")):
    """``slices`` times ``side`` x ``side`` threads, ``rows`` x ``cols`` results each, ``depth`` steps at a time; ``ahead``: the next tile is on its
    way meanwhile."""
    __slots__ = ()
    file, element_wise, step, head = "gemm_tiles", True, 1, ""
    when = "hardware adapters"
    stored = staticmethod(lambda dtype: dtype.wgsl)

    def groups(self, size):
        return size.batches * -(-size.rows // (self.side * self.rows)) * -(-size.cols // (self.side * self.cols))

    def consts(self, a, b):
        return {"SIDE": self.side, "TR": self.rows, "TC": self.cols, "DEPTH": self.depth, "SLICES": self.slices, "AHEAD": self.ahead,
                "A_FAST": a.fast, "B_FAST": b.fast}

    def filled(self, text, result, a, b):
        by_row = self.slices > 1 or result.fours or result.label() and self.rows * self.cols > 16
        text = text.replace("PUT\n", (PUT_FOUR if result.fours else PUT_ONE) + "\n")
        store = _lines(self.rows, lambda m: STORE_ROW.replace("ROW", str(m))) if by_row else STORE_EACH
        return text.replace("STORE\n}", store + "\n}")

    def fitting(self, device):
        """The variant with as many slices and as deep tiles as the device has room for."""
        depth, slices = self.depth, self.slices
        space, threads = (device.limits[f"maxCompute{name}"] for name in ("WorkgroupStorageSize", "InvocationsPerWorkgroup"))
        while self.side * self.side * slices > threads:
            slices //= 2
        while ((self.rows + self.cols) * self.side + 8) * depth * slices * 4 > space:
            depth, slices = (depth // 2, slices) if depth > 8 else (depth, slices // 2)
        return self._replace(depth=depth, slices=slices)


class Matrices(namedtuple("Matrices", "rows cols down across depth")):
    """``down`` x ``across`` subgroups, each ``rows`` x ``cols`` subgroup matrices of 16 x 16 float16 products, ``depth`` steps at a time."""
    __slots__ = ()
    file, element_wise, step = "gemm_matrices", False, 8
    when = "hardware adapters with subgroup matrices, for large products of float16 that can be read by eights"
    head = "enable chromium_experimental_subgroup_matrix;\ndiagnostic(off, chromium.subgroup_matrix_uniformity);"

    stored = staticmethod(lambda dtype: "vec4<u32>")

    def groups(self, size):
        return size.batches * -(-size.rows // (16 * self.rows * self.down)) * -(-size.cols // (16 * self.cols * self.across))

    def consts(self, a, b):
        return {"SM": self.rows, "SN": self.cols, "WM": self.down, "WN": self.across, "DEPTH": self.depth, "A_FAST": a.fast, "B_FAST": b.fast}

    def filled(self, text, result, a, b):
        cells = [(i, j) for i in range(self.rows) for j in range(self.cols)]
        words = {"A_MAJOR": "row_major" if a.fast else "col_major", "B_MAJOR": "col_major" if b.fast else "row_major",
                 "SUMS\n": _lines(len(cells), lambda n: "var c{}_{}: subgroup_matrix_result<f32, 16, 16>;".format(*cells[n])) + "\n",
                 "MULTIPLY\n": _lines(self.depth // 16, lambda d: self._multiplied(16 * d, cells)) + "\n",
                 "STORE\n}": _lines(self.rows, self._store) + "\n}"}
        for word, made in words.items():
            text = text.replace(word, made)
        return text

    def _multiplied(self, d, cells):
        lines = [*(f"let a{i} = a_part({d}u, own_row + {16 * i}u);" for i in range(self.rows)),
                 *(f"let b{j} = b_part({d}u, own_col + {16 * j}u);" for j in range(self.cols)),
                 *(f"c{i}_{j} = subgroupMatrixMultiplyAccumulate(a{i}, b{j}, c{i}_{j});" for i, j in cells)]
        return "{ " + " ".join(lines) + " }"

    def _store(self, i):
        parts = _lines(self.cols, lambda j: f"subgroupMatrixStore<row_major>(floats, subgroup * (256u * SN) + {16 * j}u, c{i}_{j}, 16u * SN);")
        return STORE_PART.format(parts=parts, row=16 * i)


class Lines(namedtuple("Lines", "rows cols")):
    """A workgroup computes ``cols`` columns of all ``rows`` rows, its threads side by side along the sum."""
    __slots__ = ()
    file, element_wise, step, head = "gemm_lines", False, 4, ""
    when = "hardware adapters, for up to four rows times a matrix whose lines lie along the sum"

    def groups(self, size):
        return size.batches * -(-size.cols // self.cols)

    def consts(self, a, b):
        return {"ROWS": self.rows, "COLS": self.cols}

    def filled(self, text, result, a, b):
        return text

    stored = staticmethod(lambda dtype: f"vec4<{dtype.wgsl}>")


KINDS = {kind.__name__: kind for kind in (Threads, Tiles, Matrices, Lines)}


def choose(device, size, a, b):
    """(variant, splits) of a product of Sides ``a`` and ``b``: as measured on this adapter (tuner.py), else by rule."""
    tuned = device.tuned.get(key(size, a, b)) if device.tuned else None
    return read(tuned) if tuned else by_rule(device, size, a, b)


def read(written):
    """(variant, splits) from the list that JSON has of it; ValueError for anything else."""
    try:
        name, *numbers, splits = written
        return KINDS[name](*numbers), int(splits)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"not a variant of a product: {written!r}") from None


def key(size, a, b):
    """What products share a choice: alike in all but small differences of their sizes; of convolutions, the very same."""
    plain = size.steps[1] * size.steps[2] == 1
    numbers = (size.batches, size.rows, size.cols, *size.steps)
    kinds = ["int8"] if size.packed else dict.fromkeys(side.operand.meta.dtype.name for side in (a, b))
    kind = " by ".join(kinds) + (" eights" if a.eights and b.eights else " lines" if size.rows <= LINES and _in_lines(a) and _in_lines(b) else "")
    return f"{kind} {'n' if a.fast else 't'}{'t' if b.fast else 'n'} {'x'.join(str(_coarse(n) if plain else n) for n in numbers)}"


def _coarse(n):
    """``n`` rounded up to 4, 5, 6 or 7 times a power of two."""
    step = 1 << max(0, n.bit_length() - 3)
    return -(-n // step) * step


def candidates(device, size, a, b):
    """[(variant, splits)] worth timing; the first is the rule's."""
    first = by_rule(device, size, a, b)
    outer = size.steps[0] * size.steps[1]
    if device.software:
        found = [(Threads(rows), splits) for rows in (1, 4, 8) for splits in (1, 2, 4)]
    elif isinstance(first[0], Lines):
        found = [(Lines(size.rows, cols), splits) for cols in (1, 2, 4) for splits in (1, 2, 4)]
    elif isinstance(first[0], Matrices):
        found = [(Matrices(*form, 32), splits) for form in ((4, 4, 2, 4), (4, 4, 2, 2), (2, 4, 2, 2), (2, 2, 2, 2)) for splits in (1, 2)]
    else:
        found = [(Tiles(*form).fitting(device), first[1]) for form in TILES] + [(first[0], splits) for splits in (1, 2, 4, 8, 16) if splits <= 4 * first[1]]
    return list(dict.fromkeys([first, *(choice for choice in found if choice[1] <= outer)]))


def by_rule(device, size, a, b):
    """(variant, splits) as measured on other adapters."""
    outer, steps = size.steps[0] * size.steps[1], size.steps[0] * size.steps[1] * size.steps[2]
    if device.software:
        threads = Threads(8 if size.rows > 4 else 4 if size.rows > 1 else 1)
        return threads, _splits(threads.groups(size), 4, outer, steps, 256)
    if size.rows <= LINES and size.steps[1] * size.steps[2] == 1 and _in_lines(a) and _in_lines(b) and steps >= 64:
        lines = Lines(size.rows, 2 if size.batches * size.cols >= 1024 else 1)
        return lines, _splits(lines.groups(size), 512, outer, steps, 1024)
    if size.rows <= 2:
        return Threads(1), _splits(Threads(1).groups(size), 256, outer, steps, 64)
    if a.eights and b.eights and by_matrices(device, size):
        sizes = [Matrices(*form, 32) for form in ((4, 4, 2, 4), (4, 4, 2, 2), (2, 2, 2, 2))]
        return next((m for m in sizes if m.groups(size) >= 100), sizes[-1]), 1
    if size.packed:
        return _packed_tiles(size).fitting(device), 1
    variant, splits = _tiles(size, outer, steps, size.steps[1] * size.steps[2] == 1, a.fast, b.fast)
    return variant.fitting(device), splits


def _in_lines(side):
    """Whether lines of a side lie along the sum and can be read by fours of floats."""
    return side.fast and side.fours and side.operand.meta.dtype.compute == "f32"


def by_matrices(device, size):
    """Whether a product of float16 should be one of subgroup matrices."""
    work = size.batches * size.rows * size.cols * size.steps[0]
    return "f16" in device.matrices and min(size.rows, size.cols) > 16 and work >= MATRICES_FROM


def _packed_tiles(size):
    """As measured on an H200 (TOP/s of ResNet-18's convolutions at batch 16: 50, 46, 47; with the tiles of floats 43, 47, 30)."""
    groups = lambda side: size.batches * -(-size.rows // side) * -(-size.cols // side)  # noqa: E731
    if groups(64) >= 200 and min(size.rows, size.cols) > 32:
        return Tiles(16, 4, 4, 16, True, 1)
    return Tiles(8, 4, 4, 16, True, 4 if groups(32) < 400 else 2 if groups(32) < 800 else 1)


def _tiles(size, outer, steps, plain, a_fast, b_fast):
    """(variant, splits) as measured on an H200: tiles so large that there are still some groups for each of its processors, slices where
    there are fewer. Splits cost a second dispatch, so they come last."""
    groups = lambda rows, cols: size.batches * -(-size.rows // rows) * -(-size.cols // cols)  # noqa: E731
    narrow, fast = size.rows <= 32 or size.cols <= 32, a_fast and b_fast
    if fast and not plain:                                          # gradients of a convolution's weights: few results, long sums
        variant = Tiles(8, 4, 4, 16, True, 1) if narrow else Tiles(16, 8 if size.rows >= 128 else 4, 4, 16, False, 1)
        return variant, _splits(variant.groups(size), 256 if narrow else 400, outer, steps, 128)
    wide = 0 if narrow else groups(64, 64)
    if wide and plain and groups(128, 128) >= 200:
        return Tiles(16, 8, 8, 16, not a_fast or b_fast, 1), 1
    if wide >= 400 and plain and not fast and steps >= 1024:
        return Tiles(8, 8, 8, 8, True, 2), 1
    if wide >= 400 and not plain and size.cols > 64:
        large, small = _filled(groups(64, 128), 2 * PROCESSORS), _filled(wide, 6 * PROCESSORS)
        return Tiles(8, 8, 8, 8, True, 1) if large < min(0.8, small) else Tiles(16, 4, 8, 16, True, 1), 1
    if wide >= 400:
        return Tiles(16, 4, 4, 16, True, 1), 1
    if wide >= 200 and steps >= (1024 if plain else 512):
        return Tiles(8, 8, 8, 16, True, 2), 1
    if wide >= 100 and steps >= 512 and not (plain and fast):
        return Tiles(8, 8, 4, 16, True, 2) if plain or groups(64, 32) >= 384 else Tiles(8, 8, 8, 8, True, 4), 1
    if 25 <= wide < 100 and steps >= 1024:
        if groups(64, 32) >= 100:
            return Tiles(8, 8, 4, 16, True, 4), 1
        return Tiles(8, 8, 8, 8, True, 4), 2 if wide >= 50 else 4
    if (tiles := groups(32, 32)) >= 100:
        return Tiles(8, 4, 4, 16, True, 4 if tiles < 400 else 2 if tiles < 800 else 1), 1
    return Tiles(4, 4, 4, 16, True, 16 if steps >= 512 else 8), max(1, min(64 // groups(16, 16), steps // 2048, outer))


def _filled(groups, at_once):
    """How much of the device ``groups`` use, from the first to the last, where so many run at once."""
    return groups / (-(-groups // at_once) * at_once)


def _splits(groups, wanted, outer, steps, least):
    """Enough chunks of the sum that about ``wanted`` groups run, none with fewer than ``least`` steps."""
    return max(1, min((wanted + groups // 2) // groups, outer, steps // least, 128))
