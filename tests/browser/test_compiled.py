"""Compiled steps do what eager ones do, on WebGPU in a browser."""
from tools.browser import ROOT, run_script

TESTS = ROOT / "tests"


def run(*args, script="run_compiled.py"):
    lines = []
    files = [TESTS / "samples.py", TESTS / "golden", ROOT / "bench/models.py"]
    status = run_script(TESTS / script, args, files=files, on_log=lambda fd, text: lines.append(text))
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


def test_profiles_and_pictures_show_what_ran():
    status, text = run(script="run_profile.py")
    assert status == 0, text
