"""Assembles the static site in dist/site: the pages of site/, the wheel and the bare Pyodide core. It needs no CDN.

dist/site/wheel.json names the wheel, dist/site/pyodide/ is Pyodide, dist/site/mnist/digits.bin the digits, everything else is as in site/.
"""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from tools import mnist  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SITE = ROOT / "dist/site"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")


def main():
    wheel = newest_wheel()
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(ROOT / "site", SITE)
    shutil.copy(ROOT / "docs/demo.png", SITE)
    shutil.copy(wheel, SITE)
    (SITE / "wheel.json").write_text(json.dumps({"wheel": wheel.name}))
    (SITE / "mnist/digits.bin").write_bytes(mnist.pack())
    copy_pyodide(SITE / "pyodide")
    print(SITE.relative_to(ROOT))


def newest_wheel():
    wheels = sorted((ROOT / "dist").glob("pyborch-*.whl"), key=lambda wheel: wheel.stat().st_mtime)
    return wheels[-1] if wheels else sys.exit("site: no wheel in dist; run ./build.sh wheel")


def copy_pyodide(folder):
    """The core alone: its lock file would offer packages that lie on a CDN."""
    folder.mkdir(parents=True)
    for name in CORE:
        shutil.copy(ROOT / "node_modules/pyodide" / name, folder)
    lock = json.loads((folder / "pyodide-lock.json").read_text())
    (folder / "pyodide-lock.json").write_text(json.dumps(lock | {"packages": {}}))


if __name__ == "__main__":
    main()
