"""Every op's samples and the loss curve of a network on WebGPU in real browsers, against values frozen from PyTorch."""
import portable_scripts
import pytest

from tools.browser import ROOT, run_script

TESTS = ROOT / "tests"


def run(script, *args, more=(), **options):
    """(exit status, what the script printed)."""
    lines = []
    files = [*(TESTS / f"{name}.py" for name in ("samples", "curve", "reported", "drawn", "own_kernels", "frozen")), TESTS / "golden", *more]
    status = run_script(TESTS / script, args, files=files, on_log=lambda fd, text: lines.append(text), **options)
    return status, "".join(lines)


@pytest.mark.parametrize("pyodide, args", [("314", []), ("0.27", ["first"])])
def test_samples_agree_with_pytorch_in_chromium(pyodide, args):
    status, text = run("run_samples.py", *args, pyodide=pyodide)
    assert status == 0, text


def test_frozen_samples_of_pytorchs_operator_database_agree():
    status, text = run("run_opdb.py", "0/2")
    assert status == 0, text


def test_one_sample_of_each_op_agrees_in_firefox_with_float16():
    status, text = run("run_samples.py", "first", name="firefox")
    assert status == 0, text
    assert "f16 True" in text


def test_fifty_steps_draw_the_loss_curve_of_pytorch_eager_and_compiled():
    status, text = run("run_curve.py")
    assert status == 0, text


def test_a_thousand_steps_leave_no_buffer_and_no_proxy_behind():
    status, text = run("run_leaks.py")
    assert status == 0, text


def test_bugs_met_elsewhere_do_not_occur_here():
    status, text = run("run_reported.py")
    assert status == 0, text


def test_random_numbers_are_random_and_the_same_as_on_the_cpu():
    status, text = run("run_drawn.py")
    assert status == 0, text


def test_errors_name_what_went_wrong_on_the_device():
    status, text = run("run_device_errors.py")
    assert status == 0, text


def test_tiled_products_equal_plain_ones():
    status, text = run("run_tiles.py", name="firefox")  # whose software adapter is quick at them
    assert status == 0, text


def test_few_rows_times_lines_equal_plain_products():
    status, text = run("run_lines.py", name="firefox")  # which has float16
    assert status == 0, text


def test_int8_and_weights_of_few_bits_equal_the_cpu():
    status, text = run("run_quantized.py", pyodide="0.27")  # which has numpy
    assert status == 0, text


def test_decoding_equals_attention_and_the_cpu():
    status, text = run("run_decode.py", pyodide="0.27")  # which has numpy
    assert status == 0, text


def test_products_are_tuned_between_the_calls_of_a_function():
    status, text = run("run_tuner.py")
    assert status == 0, text


def test_products_of_float16_equal_those_of_float32():
    status, text = run("run_matrices.py", name="firefox")  # which has float16
    assert status == 0, text


def test_reductions_of_hardware_adapters_equal_plain_ones():
    status, text = run("run_reductions.py")
    assert status == 0, text


def test_long_rows_are_sorted_and_scanned_as_on_the_cpu():
    status, text = run("run_order.py", pyodide="0.27")  # which has numpy
    assert status == 0, text


def test_kernels_of_users_own_take_part_in_everything():
    status, text = run("run_own_kernels.py")
    assert status == 0, text


def test_kernels_pass_the_cases_of_their_cards():
    status, text = run("run_cards.py", pyodide="0.27")  # which has numpy
    assert status == 0, text


@pytest.mark.parametrize("name, args", [("chromium", ["first"]), ("firefox", ["first", "hardware"])])
def test_nothing_is_written_behind_a_result_and_nothing_left_out(name, args):
    status, text = run("run_guards.py", *args, name=name)
    assert status == 0, text


def test_results_are_as_near_to_f64_as_stated():
    status, text = run("run_bounds.py", pyodide="0.27")
    assert status == 0, text


@pytest.mark.parametrize("name", ["chromium", "firefox"])
def test_scripts_written_for_pytorch_end_with_its_losses(name):
    names = [*portable_scripts.WANTED] if name == "chromium" else ["transformer", "vit", "gan"]
    status, text = run("run_portable.py", "webgpu", *names, name=name, more=[TESTS / "portable_scripts.py", TESTS / "portable"])
    assert status == 0, text
