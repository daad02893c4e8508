"""A page in a real browser without a driver: serve on loopback, open, listen to what the page reports by POST.

    python tools/browser.py run script.py [--browser chromium|firefox] [--pyodide 314|0.27] [--files extra...] [-- args]

runs one Python file in Pyodide in a Web Worker, with WebGPU on a software adapter, prints what it prints and exits with its
status; `serve FOLDER` serves a folder on this machine.
PYBORCH_CHROMIUM names another Chromium, PYBORCH_CHROMIUM_FLAGS other adapter flags (a machine with a GPU).
"""
import argparse
import contextlib
import http.server
import io
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNNER = pathlib.Path(__file__).resolve().parent / "runner"
PYODIDES = {"314": ROOT / ".cache/pyodide-314", "0.27": ROOT / ".cache/pyodide-0.27"}
SOFTWARE_ADAPTER = "--use-webgpu-adapter=swiftshader --enable-unsafe-swiftshader"
LAVAPIPE = [str(path) for path in pathlib.Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json")]
CHROMIUM_FLAGS = ["--headless", "--no-sandbox", "--enable-unsafe-webgpu", "--no-first-run", "--disable-background-networking",
                  "--disable-component-update", "--disable-sync", "--disable-quic", "--disable-dev-shm-usage"]
FIREFOX_ON = ["dom.webgpu.enabled", "gfx.webgpu.ignore-blocklist", "gfx.webgpu.force-enabled"]
FIREFOX_OFF = ["browser.shell.checkDefaultBrowser", "browser.aboutwelcome.enabled", "datareporting.policy.dataSubmissionEnabled",
               "toolkit.telemetry.reportingpolicy.firstRun", "network.captive-portal-service.enabled",
               "network.connectivity-service.enabled", "app.update.enabled", "extensions.update.enabled"]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of several folders and texts under one origin; POST /log?fd=N and POST /done go to the server's queue."""
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript", ".wasm": "application/wasm", ".whl": "application/zip", ".wgsl": "text/plain"}

    def translate_path(self, path):
        path = path.partition("?")[0]
        for prefix, folder in self.server.folders.items():
            if path.startswith(prefix):
                self.directory = str(folder)
                return super().translate_path("/" + path[len(prefix):])
        return super().translate_path("/no such folder")

    def do_GET(self):
        content = self.server.texts.get(self.path)
        if content is None:
            return super().do_GET()
        self._answer(200, content, self.guess_type(self.path))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, b"")
        self.server.reports.put((self.path, body.decode(errors="replace")))

    def end_headers(self):
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format, *args):
        pass

    def _answer(self, status, content, kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A browser that goes away in the middle of an answer is no error of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serve(folders, texts=None, port=0):
    """A server on loopback: ``folders`` maps URL prefixes (longest first) to folders, ``texts`` whole URLs to bytes."""
    server = Server(("127.0.0.1", port), Handler)
    server.folders, server.texts, server.reports = folders, texts or {}, queue.Queue()
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def _chromium(url, profile):
    adapter = os.environ.get("PYBORCH_CHROMIUM_FLAGS", SOFTWARE_ADAPTER).split()
    return [os.environ.get("PYBORCH_CHROMIUM", "chromium"), *CHROMIUM_FLAGS, *adapter, f"--user-data-dir={profile}", url], {}


def _firefox(url, profile):
    lines = [f'user_pref("{name}", true);' for name in FIREFOX_ON] + [f'user_pref("{name}", false);' for name in FIREFOX_OFF]
    pathlib.Path(profile, "user.js").write_text("\n".join(lines))
    return ["firefox-esr", "--headless", "--no-remote", "--profile", profile, url], {"VK_ICD_FILENAMES": ":".join(LAVAPIPE)}


@contextlib.contextmanager
def browser(name, url):
    """A headless browser with a fresh profile at the url; its own words are shown only if it ends early."""
    profile = tempfile.mkdtemp(prefix="pyborch-browser-")
    command, environment = {"chromium": _chromium, "firefox": _firefox}[name](url, profile)
    words = open(os.path.join(profile, "words.txt"), "w+b")
    environment = os.environ | {"XDG_RUNTIME_DIR": profile, "HOME": profile} | environment
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=words, stderr=words,
                               start_new_session=True)
    process.words = words
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        words.close()
        shutil.rmtree(profile, ignore_errors=True)


def listen(server, process, timeout, on_log):
    """Hands each log to ``on_log(fd, text)`` until the page is done; gives the text of /done. TimeoutError, RuntimeError."""
    end = time.monotonic() + timeout
    while True:
        try:
            path, body = server.reports.get(timeout=1)
        except queue.Empty:
            if process.poll() is not None:
                process.words.seek(0)
                tail = process.words.read().decode(errors="replace")[-2000:]
                raise RuntimeError(f"browser: it ended by itself (status {process.returncode})\n{tail}") from None
            if time.monotonic() > end:
                raise TimeoutError(f"browser: the page was not done after {timeout} s") from None
            continue
        if path == "/done":
            return body
        on_log(2 if path.endswith("fd=2") else 1, body)


def open_page(folders, page, name="chromium", timeout=600, texts=None, on_log=None):
    """Serves, opens ``page`` in the browser ``name``, passes its logs on, and gives the text it POSTed to /done."""
    with serve(folders, texts) as server, browser(name, f"{server.url}/{page}") as process:
        return listen(server, process, timeout, on_log or _print)


def run_script(script, args=(), name="chromium", pyodide="314", files=(), timeout=600, on_log=None):
    """The exit status of a Python file in Pyodide in a browser. Files and folders outside the package travel by ``files``."""
    script = pathlib.Path(script).resolve()
    job = {"root": str(ROOT), "script": str(script), "args": list(args), "packages": ["numpy"] if pyodide == "0.27" else []}
    paths = [ROOT / "pyborch", ROOT / "tools/pyodide_main.py", script, *map(pathlib.Path, files)]
    texts = {"/job.json": json.dumps(job).encode(), "/job.zip": _pack(paths)}
    folders = {"/pyodide/": PYODIDES[pyodide], "/": RUNNER}
    return int(open_page(folders, "index.html", name, timeout, texts, on_log))


def _pack(paths):
    """A zip of files and folders under their whole paths: inside Pyodide everything lies where it lies here."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in paths:
            path = path.resolve()
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file)
    return packed.getvalue()


def _print(fd, text):
    stream = sys.stderr if fd == 2 else sys.stdout
    stream.write(text)
    stream.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="run one Python file in Pyodide in a browser")
    run.add_argument("script")
    run.add_argument("--browser", choices=["chromium", "firefox"], default="chromium")
    run.add_argument("--pyodide", choices=list(PYODIDES), default="314")
    run.add_argument("--files", nargs="+", default=[], help="files and folders the script reads")
    run.add_argument("--timeout", type=float, default=600, help="seconds")
    serving = verbs.add_parser("serve", help="serve a folder on this machine until interrupted")
    serving.add_argument("folder")
    serving.add_argument("--port", type=int, default=8000)
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, script_args = parser.parse_args(sys.argv[1:cut]), sys.argv[cut + 1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the browser ends too
    if options.verb == "serve":
        return _serve_until_interrupted(options.folder, options.port)
    try:
        return run_script(options.script, script_args, options.browser, options.pyodide, options.files, options.timeout)
    except (RuntimeError, TimeoutError) as error:
        return str(error)


def _serve_until_interrupted(folder, port):
    with serve({"/": pathlib.Path(folder).resolve()}, port=port) as server, contextlib.suppress(KeyboardInterrupt):
        print(f"{server.url}/  (Ctrl-C ends)", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
