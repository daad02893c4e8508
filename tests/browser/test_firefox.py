"""Firefox: another WebGPU (wgpu and naga), with float16 on its software adapter."""
from tools.browser import run_script

SCRIPT = """
import js
from pyodide.ffi import can_run_sync, run_sync
adapter = run_sync(js.navigator.gpu.requestAdapter())
print("f16" if adapter.features.has("shader-f16") else "no f16", can_run_sync())
"""


def test_a_worker_in_firefox_has_webgpu_with_float16_and_waits_without_await(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    lines = []
    status = run_script(script, name="firefox", on_log=lambda fd, text: lines.append(text))
    assert (status, lines) == (0, ["f16 True\n"])
