"""Kernels that work on rows: a thread per short row (on software adapters also per longer ones), a workgroup per long one."""
from __future__ import annotations

from .. import kernels


MOST_ALONE = 16384   # elements that one thread may add up: beyond, rounding shows


def plan_rows(plan, name, rows, n, operands, words, consts, types) -> None:
    """Dispatch wgsl/NAME.wgsl over ``rows`` rows of ``n`` elements; ``words`` follow the row count."""
    grouped = n > MOST_ALONE or not plan.device.software and (n >= 512 or rows < 4096 and n >= 64)
    entry = kernels.source("rows_groups" if grouped else "rows_threads")
    kernel = kernels.from_file(name, consts, types, entry)
    plan.dispatch(kernel, operands, [rows, *words], rows if grouped else -(-rows // 64))
