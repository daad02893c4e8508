"""./build.sh demo: the digits page in headless Chromium, its progress here, and a comparison of its network with real PyTorch.

Keeps dist/demo.png and dist/digits.safetensors; the last line is JSON. Fails under 98 % of unseen digits right.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import sync_playwright  # noqa: E402

from tools.browser import CHROMIUM_FLAGS, SOFTWARE_ADAPTER, serve  # noqa: E402

DIST = ROOT / "dist"
NEEDED = 0.98
COMPARE = """
import struct, sys, torch
from safetensors.torch import load_file
from torch import nn
weights, digits, logits = sys.argv[1:]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 8, 5, stride=2, padding=2), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16)
        self.conv3, self.norm3 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.head = nn.Linear(32 * 7 * 7, 10)
    def forward(self, x):
        for conv, norm in ((self.conv1, self.norm1), (self.conv2, self.norm2), (self.conv3, self.norm3)):
            x = norm(conv(x)).relu()
        return self.head(x.flatten(1))
net = Net()
net.load_state_dict(load_file(weights))
net.eval()
records = torch.frombuffer(bytearray(open(digits, "rb").read()), dtype=torch.uint8).reshape(-1, 785)[8000:]
with torch.no_grad():
    found = net(records[:, 1:].float().reshape(-1, 1, 28, 28) / 255)
page = torch.frombuffer(bytearray(open(logits, "rb").read()), dtype=torch.float32).reshape(-1, 10)
print((found - page).abs().max().item())
"""


def watch(page, seconds):
    """Print the page's progress until its result is there."""
    end, shown = time.monotonic() + seconds, ""
    while time.monotonic() < end:
        trouble = page.evaluate("window.trouble")
        if trouble:
            sys.exit(f"demo: {trouble}")
        result = page.evaluate("window.result")
        if result:
            return result
        line = page.evaluate("['stage', 'step', 'loss', 'seconds'].map((id) => document.getElementById(id).textContent).join('  ')")
        if line != shown:
            print(line, flush=True)
            shown = line
        page.wait_for_timeout(5000)
    sys.exit(f"demo: not done after {seconds} s")


def draw_three(page):
    """Draw a 3 as a visitor would."""
    page.locator("#pad").scroll_into_view_if_needed()
    box = page.locator("#pad").bounding_box()
    points = [(0.3, 0.22), (0.5, 0.15), (0.68, 0.27), (0.62, 0.42), (0.45, 0.48), (0.66, 0.56), (0.7, 0.72), (0.52, 0.86), (0.3, 0.78)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=6)
    page.mouse.up()
    page.wait_for_function("document.getElementById('bars').dataset.best >= 0")
    return int(page.evaluate("document.getElementById('bars').dataset.best"))


def compare(result):
    """The largest difference between the page's logits and real PyTorch's with the saved weights; None without PyTorch."""
    python = ROOT / ".cache/torch/bin/python"
    if not python.exists():
        return None
    (DIST / "logits.bin").write_bytes(bytes.fromhex(result["logits"]))
    answer = subprocess.run([python, "-c", COMPARE, DIST / "digits.safetensors", DIST / "site/mnist/digits.bin", DIST / "logits.bin"],
                            capture_output=True, text=True, check=True)
    return float(answer.stdout)


def main():
    subprocess.run([ROOT / "build.sh", "site"], check=True, stdout=subprocess.DEVNULL)
    flags = [*CHROMIUM_FLAGS, *os.environ.get("PYBORCH_CHROMIUM_FLAGS", SOFTWARE_ADAPTER).split()]
    with serve({"/": DIST / "site"}) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("PYBORCH_CHROMIUM") or shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1180, "height": 1060}, device_scale_factor=2)
        page.goto(f"{server.url}/mnist/")
        result = watch(page, 900)
        print(f"a drawn 3 is taken for a {draw_three(page)}", flush=True)
        page.wait_for_timeout(500)
        page.screenshot(path=DIST / "demo.png", full_page=True)
        browser.close()
    (DIST / "digits.safetensors").write_bytes(bytes.fromhex(result["weights"]))
    print(f"weights in dist/digits.safetensors; loaded again their logits differ by {result['reloaded_max_abs_diff']:.2g}; screenshot in dist/demo.png")
    summary = {key: result[key] for key in ("test_accuracy", "train_seconds", "steps", "adapter")} | {"torch_logits_max_abs_diff": compare(result)}
    print(json.dumps(summary))
    difference = summary["torch_logits_max_abs_diff"]
    return 0 if result["test_accuracy"] >= NEEDED and (difference is None or difference <= 1e-4) and result["reloaded_max_abs_diff"] <= 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
