"""Runs inside Pyodide: one script as ``python script.py args`` would, with top-level await; gives its exit status."""
import os
import sys
import traceback

from pyodide.code import eval_code_async


async def main(file: str, args: list[str], paths: list[str], cwd: str) -> int:
    sys.argv = [file, *args]
    sys.path[:0] = [os.path.dirname(file), *paths]
    os.chdir(cwd)
    with open(file, encoding="utf-8") as source:
        text = source.read()
    try:
        await eval_code_async(text, {"__name__": "__main__", "__file__": file}, filename=file)
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        traceback.print_exception(error.with_traceback(_own_frames(error.__traceback__, file)))
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _own_frames(trace, file):
    """The traceback from the script's first frame on: how Pyodide got there is noise."""
    first = trace
    while first and first.tb_frame.f_code.co_filename != file:
        first = first.tb_next
    return first or trace
