"""Compiled steps do what eager ones do, on WebGPU in a browser."""
from test_ops_webgpu import TESTS

from tools.browser import ROOT, run_script


def run(*args):
    lines = []
    files = [TESTS / "samples.py", TESTS / "golden", ROOT / "bench/models.py"]
    status = run_script(TESTS / "run_compiled.py", args, files=files, on_log=lambda fd, text: lines.append(text))
    return status, "".join(lines)


def test_every_sample_compiled_forward_and_backward_equals_eager():
    status, text = run("samples")
    assert status == 0, text


def test_networks_train_as_eager_within_a_few_dispatches():
    status, text = run("models")
    assert status == 0, text


def test_random_graphs_equal_eager():
    status, text = run("graphs", "60", "1")
    assert status == 0, text
