"""Compiled steps do what eager ones do, on WebGPU in a browser."""
import pytest

from tools.browser import ROOT, run_script

TESTS = ROOT / "tests"


def run(*args, script="run_compiled.py", **options):
    lines = []
    files = [TESTS / "samples.py", TESTS / "mixed.py", TESTS / "golden", ROOT / "bench/models.py"]
    status = run_script(TESTS / script, args, files=files, on_log=lambda fd, text: lines.append(text), **options)
    return status, "".join(lines)


def test_every_sample_compiled_forward_and_backward_equals_eager():
    status, text = run("samples")
    assert status == 0, text


def test_networks_train_as_eager_within_a_few_dispatches():
    status, text = run("models")
    assert status == 0, text


@pytest.mark.parametrize("args", [("60", "1"), ("40", "7000", "hardware")], ids=["this adapter's kernels", "hardware's kernels"])
def test_random_graphs_equal_eager(args):
    status, text = run("graphs", *args)
    assert status == 0, text


def test_profiles_and_pictures_show_what_ran():
    status, text = run(script="run_profile.py")
    assert status == 0, text


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_the_attention_kernel_equals_products_and_a_softmax(browser):
    status, text = run(script="run_attention.py", name=browser)
    assert status == 0, text
    assert browser == "chromium" or "float16 True" in text


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_mixed_precision_trains_as_pytorch_does(browser):
    status, text = run(script="run_mixed.py", name=browser)
    assert status == 0, text
    assert browser == "chromium" or "float16 True" in text
