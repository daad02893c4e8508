"""pyborch beside other libraries of the browser, on one page and one GPU: ./build.sh bench compare. Refuses a software adapter unless told
``--anyway``.

TensorFlow.js, ONNX Runtime Web and jax-js do the same work on the same numbers; every result is compared with plain arithmetic first, and
one that is off is printed as ``wrong`` and makes the exit status 1. How each is run is said at the top of its file in bench/compare. The
last line is JSON.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import urllib.parse
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.browser import open_page  # noqa: E402
from tools.site import copy_pyodide  # noqa: E402

HERE = ROOT / "bench/compare"
PEERS = ROOT / ".cache/peers"
MODULES = PEERS / "node_modules"
SHIPPED = {  # where each file of a peer lies in the folder that is served: what it ships, as it is
    "tfjs": ["@tensorflow/tfjs/dist/tf.min.js", "@tensorflow/tfjs-backend-webgpu/dist/tf-backend-webgpu.min.js"],
    "ort": [f"onnxruntime-web/dist/{name}" for name in (
        "ort.jspi.min.mjs", "ort-wasm-simd-threaded.jspi.mjs", "ort-wasm-simd-threaded.jspi.wasm")],
    "jaxjs": ["@jax-js/jax/dist/*.js"],
}
PACKAGES = {"tfjs": "@tensorflow/tfjs-backend-webgpu", "ort": "onnxruntime-web", "jaxjs": "@jax-js/jax"}
NAMES = ["pyborch", *PACKAGES]


def install():
    """The peers in .cache/peers, unless these very versions are there."""
    lock = HERE / "package-lock.json"
    if (MODULES / "stamp").exists() and (MODULES / "stamp").read_bytes() == lock.read_bytes():
        return
    print("compare: installing the other libraries in .cache/peers (npm, once)", file=sys.stderr)
    PEERS.mkdir(parents=True, exist_ok=True)
    for file in (HERE / "package.json", lock):
        shutil.copy(file, PEERS)
    subprocess.run(["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=PEERS, check=True)
    shutil.copy(lock, MODULES / "stamp")


def assemble(folder):
    """All that the page needs, in an empty ``folder``."""
    shutil.copytree(HERE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.json", "*.py", "__pycache__"))
    for peer, patterns in SHIPPED.items():
        (folder / "lib" / peer).mkdir(parents=True)
        for file in (file for pattern in patterns for file in MODULES.glob(pattern)):
            shutil.copy(file, folder / "lib" / peer)
    copy_pyodide(folder / "pyodide")
    pack(folder / "pyborch.zip")
    (folder / "versions.json").write_text(json.dumps(versions()))


def pack(path):
    """pyborch and the Python that measures it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((ROOT / "pyborch").rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(ROOT))
        archive.write(HERE / "work.py", "work.py")
        archive.write(ROOT / "bench/kernels.py", "kernels.py")


def versions():
    import pyborch
    return {"pyborch": pyborch.__version__} | {
        peer: json.loads((MODULES / package / "package.json").read_text())["version"] for peer, package in PACKAGES.items()}


class Report:
    """What the page says, printed as a table: a row when all peers have done a case."""

    def __init__(self, names):
        self.names, self.page, self.peers, self.results, self.row = names, {}, {}, [], {}

    def __call__(self, fd, line):
        message = json.loads(line)
        if "case" in message:
            self._result(message)
        elif "peer" in message:
            self.peers[message["peer"]] = message
            if len(self.peers) == len(self.names):
                self._head()
        else:
            self.page = message

    def _head(self):
        titles = [f"{name} {self.peers[name]['version']}" for name in self.names]
        print(f"{'':<28} {'':<8}", *[f"{title:>16}" for title in titles], " adapter")

    def _result(self, message):
        self.results.append(message)
        self.row[message["peer"]] = message
        if len(self.row) < len(self.names):
            return
        adapters = dict.fromkeys(found["adapter"] for found in self.row.values() if found.get("adapter"))
        cells = [f"{cell(self.row[name]):>16}" for name in self.names]
        print(f"{message['case']:<28} {message['unit']:<8}", *cells, "", ", ".join(adapters), flush=True)
        for name, found in self.row.items():
            if "error" in found:
                print(f"    {name}: {' '.join(found['error'].split())[:300]}", flush=True)
        self.row = {}

    @property
    def status(self):
        """1 if an answer was wrong, or if there is none."""
        verdicts = [found.get("verdict") for found in self.results]
        return int("wrong" in verdicts or "right" not in verdicts)

    def json(self):
        return json.dumps({**self.page, "peers": self.peers, "results": self.results})


def cell(found):
    if "error" in found:
        return "failed"
    if found["verdict"] == "wrong":
        return f"wrong ({found['off']:.0e})"
    return f"{found['value']:.4g}"


def visit(folder, query, report):
    """What the page ends with; a browser that ends before is an error too, so that what there is can be printed."""
    try:
        return json.loads(open_page({"/": folder}, f"index.html?{urllib.parse.urlencode(query)}", timeout=3600, on_log=report))
    except (RuntimeError, TimeoutError) as error:
        return {"error": str(error)}


def measure(options):
    """Opens the page, prints the table; the exit status."""
    query = {"report": "post", "peers": ",".join(options.peers), "only": options.only} | ({"anyway": 1} if options.anyway else {})
    report, folder = Report(options.peers), PEERS / "page"
    shutil.rmtree(folder, ignore_errors=True)
    assemble(folder)
    end = visit(folder, query, report)
    if "refused" in end:
        print(f"compare: the adapter is software ({end['refused']}); --anyway measures it all the same, in small. PYBORCH_CHROMIUM_FLAGS "
              "holds the flags with which Chromium finds a GPU ('' for none)", file=sys.stderr)
        return 2
    if "error" in end:
        print(f"compare: {end['error']}", file=sys.stderr)
    if options.out:
        options.out.write_text(report.json() + "\n")
    print(report.json())
    return 1 if "error" in end else report.status


def prepare(folder):
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"compare: {folder} is not empty")
    assemble(folder)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{folder}: {size / 1e6:.0f} MB. Serve it anywhere and open index.html (?report=post: it reports by POST /log, at its end /done)")
    return 0


def main():
    parser = argparse.ArgumentParser(prog="./build.sh bench compare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--anyway", action="store_true", help="measure a software adapter too, with tiny sizes")
    parser.add_argument("--only", metavar="REGEX", default="", help="cases whose name matches")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=NAMES, help=f"of {','.join(NAMES)}")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="write the JSON there too")
    parser.add_argument("--prepare", type=pathlib.Path, metavar="DIR", help="only write the page's folder, for another machine's browser")
    options = parser.parse_args()
    unknown = set(options.peers) - set(NAMES)
    if unknown:
        parser.error(f"no peer {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    install()
    return prepare(options.prepare) if options.prepare else measure(options)


if __name__ == "__main__":
    sys.exit(main())
