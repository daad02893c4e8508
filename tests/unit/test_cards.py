"""Kernels as contracts: cards, calls, correctness cases and packages, without a GPU."""
import json

import pytest

import pyborch as torch
from pyborch import devices, kernels
from pyborch.autograd import forget_plans
from pyborch.devices.cpu import Cpu
from pyborch.ops import pointwise_plan, reduce_plan
from pyborch.ops.cards import family, made_of, package
from pyborch.ops.registry import OPS, RECORDS

F = torch.nn.functional
NAMES = kernels.list()
KEYS = {"name", "version", "doc", "inputs", "outputs", "attributes", "dtypes", "shape_rule", "variants", "sources", "cases", "benchmarks", "digest"}


@pytest.fixture(autouse=True)
def on_the_cpu():
    torch.set_default_device("cpu")


class Broken(Cpu):
    """A device whose kernel of one op is a little wrong."""

    def __init__(self, op):
        super().__init__()
        self.op = op

    def run(self, plan, inputs, outputs, scalars):
        super().run(plan, inputs, outputs, scalars)
        if plan.op.name == self.op and outputs[0].numel:
            outputs[0].buffer[-1] += 1


def test_every_op_belongs_to_one_kernel():
    assert {family.family_of(op) for op in OPS.values() if op.has_card} == set(NAMES)
    assert {name for name, op in OPS.items() if op.has_card and not op.pointwise} == set(NAMES) - {"pointwise"}
    assert family.family_of(OPS["exp"]) == "pointwise"


@pytest.mark.parametrize("name", NAMES)
def test_a_card_is_json_and_complete(name):
    card = kernels.get(name).card
    assert json.loads(json.dumps(card, allow_nan=False)) == card
    assert set(card) == KEYS
    assert card["name"] == name and card["version"] == 1
    for key in ("doc", "outputs", "dtypes", "shape_rule", "variants", "sources", "cases", "benchmarks"):
        assert card[key], key
    assert all(v["name"] and v["when"] and v["doc"] for v in card["variants"])
    assert all(x["name"] and (x["dtypes"] or x.get("optional")) for x in (*card["inputs"], *card["outputs"])), card["inputs"]


@pytest.mark.parametrize("name", [n for n in NAMES if n != "pointwise"])
def test_inputs_that_a_card_calls_optional_are_left_out_in_its_cases_and_no_others(name):
    kernel = kernels.get(name)
    for k, (operand, optional) in enumerate((kernel.family.inputs or {}).items()):
        assert optional == any(case.inputs[k] is None for case in kernel.cases), operand


def test_cards_say_what_the_record_says():
    card = kernels.get("attention").card
    assert {a["name"]: a.get("default", "required") for a in card["attributes"]} == {
        "scale": "required", "causal": "required", "mask_is": "seen", "fill": "-inf", "primitive": False}
    assert [v["name"] for v in kernels.get("softmax").card["variants"]] == ["software", "hardware"]
    products = {v["name"]: v for v in kernels.get("matmul").card["variants"]}
    assert set(products) == {"Threads", "Lines", "Tiles", "Matrices"} and "float16" in products["Matrices"]["when"]
    assert kernels.get("matmul").card["benchmarks"][0]["inputs"][0] == {"shape": [1024, 1024], "dtype": "float32", "low": -1.0, "high": 1.0}
    assert "return (*batch, a.shape[-2], b.shape[-1]), a.dtype" in kernels.get("matmul").card["shape_rule"]
    formulas = kernels.get("pointwise").card["attributes"][0]["values"]
    assert formulas["mul"] == {"inputs": ["a", "b"], "attributes": []} and formulas["_to"]["attributes"] == [{"name": "dtype"}]


def test_every_public_formula_has_a_case():
    tested = {case.attributes["op"] for case in kernels.get("pointwise").cases}
    assert {name for name, op in OPS.items() if op.pointwise and name in RECORDS} - tested == set()


def test_a_kernel_has_cases_from_other_functions_too_and_of_views():
    cases = kernels.get("matmul").card["cases"]
    assert any(c["name"].startswith("matmul[") for c in cases)
    assert any("strides" in x for c in cases for x in c["inputs"] if x)


# digests
def test_a_digest_changes_with_a_source_that_the_kernel_uses_and_with_no_other(monkeypatch):
    before = {name: kernels.get(name).digest for name in NAMES}
    assert len(set(before.values())) == len(NAMES)
    assert before == {name: kernels.get(name).digest for name in NAMES}
    changed = kernels.source("rows_groups") + "\n// changed"
    monkeypatch.setitem(kernels._sources, "rows_groups", changed)
    assert {name for name in NAMES if kernels.get(name).digest != before[name]} == {
        "softmax", "log_softmax", "softmax_grad", "log_softmax_grad", "normalize_rows", "normalize_rows_grad"}


def test_a_digest_changes_with_wgsl_that_a_planner_holds(monkeypatch):
    from pyborch.ops import conv
    before = {name: kernels.get(name).digest for name in ("convolution", "convolution_weights", "softmax")}
    monkeypatch.setitem(made_of._nodes[conv.__name__], (conv.plan_convolve.__code__.co_firstlineno, "plan_convolve"), "another text")
    assert {name for name, digest in before.items() if kernels.get(name).digest != digest} == {"convolution"}
    monkeypatch.undo()
    monkeypatch.setattr(reduce_plan.SUMS["f32"], "take", "return a + v + v;")
    assert kernels.get("convolution").digest != before["convolution"] and kernels.get("softmax").digest == before["softmax"]


@pytest.mark.parametrize("options", package.DEVICES.values(), ids=package.DEVICES)
def test_a_card_names_every_source_that_a_plan_reads(monkeypatch, options):
    read, source = set(), kernels.source
    monkeypatch.setattr(kernels, "source", lambda name: read.add(name) or source(name))
    for name in NAMES:
        for cache in (kernels._pipelines, pointwise_plan._kernels, reduce_plan._built):
            cache.clear()
        read.clear()
        kernel = kernels.get(name)
        for case in kernel.cases:
            package.planned(kernel, case, options)
        found = set(read)
        assert found and found <= set(kernel.card["sources"]), name
    forget_plans()


# calls
def test_a_kernel_runs_on_its_own():
    x, w, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5), torch.randn(5)
    assert torch.equal(kernels.get("softmax")(x, dim=1), x.softmax(1))
    assert torch.equal(kernels.get("matmul")(x, w), x @ w)
    assert torch.equal(kernels.get("matmul")(x, w, b), torch.addmm(b, x, w))
    assert torch.equal(kernels.get("sort")(x, dim=0, descending=True)[1], x.sort(0, True)[1])
    assert torch.equal(kernels.get("pointwise")(x, 2.0, op="mul"), x * 2)
    assert torch.equal(kernels.get("cat")(x, x, dim=0), torch.cat([x, x]))
    assert kernels.get("full")(shape=(2,), dtype=torch.int64, value=3).tolist() == [3, 3]
    kernels.get("softmax")(x, dim=1)[0, 0].backward()
    assert x.grad[0].abs().sum() > 0


@pytest.mark.parametrize("call, error, words", [
    (lambda: kernels.get("softmacks"), ValueError, r"kernels.get\(\): no kernel 'softmacks'; there are: all, amax"),
    (lambda: kernels.get("matmul", version=2), ValueError, r"kernels.get\(\): kernel 'matmul' has version 1, not 2"),
    (lambda: kernels.get("softmax")(torch.ones(2)), TypeError, r"softmax\(\) missing 1 required keyword-only argument: 'dim'"),
    (lambda: kernels.get("sort")(torch.ones(2)), TypeError, r"sort\(\) missing 2 required keyword-only arguments: 'dim' and 'descending'"),
    (lambda: kernels.get("softmax")(torch.ones(2), dim=0, axis=1), TypeError, r"softmax\(\) got an unexpected keyword argument 'axis'"),
    (lambda: kernels.get("softmax")(torch.ones(2), torch.ones(2), dim=0), TypeError, r"softmax\(\) takes 1 positional argument but 2 were given"),
    (lambda: kernels.get("matmul")(torch.ones(2, 2)), TypeError, r"matmul\(\) missing 1 required positional argument: 'b'"),
    (lambda: kernels.get("matmul")(), TypeError, r"matmul\(\) missing 2 required positional arguments: 'a' and 'b'"),
    (lambda: kernels.get("pointwise")(torch.ones(2)), TypeError, "missing 1 required keyword-only argument: 'op'"),
    (lambda: kernels.get("pointwise")(torch.ones(2), op="softmax"), ValueError, "no formula 'softmax'"),
    (lambda: kernels.get("pointwise")(torch.ones(2), op="mul"), TypeError, r"pointwise mul\(\) missing 1 required positional argument: 'b'"),
])
def test_what_does_not_keep_to_the_contract_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_python_function_of_the_same_signature_says_the_same():
    def sort(x, *, dim, descending):
        pass
    for args, named in (((1,), {}), ((1, 2), {}), ((), {"dim": 0, "descending": True}), ((1,), {"dim": 0, "descending": 0, "k": 1})):
        with pytest.raises(TypeError) as ours:
            kernels.get("sort")(*args, **named)
        with pytest.raises(TypeError) as pythons:
            sort(*args, **named)
        assert str(ours.value) == str(pythons.value).replace("test_a_python_function_of_the_same_signature_says_the_same.<locals>.", "")


# cases
@pytest.mark.parametrize("name", NAMES)
def test_cases_pass_on_a_device_that_computes_right_and_fail_on_one_that_does_not(name):
    kernel = kernels.get(name)
    assert kernel.test(Broken(None)) == len(kernel.cases) > 0
    op = kernel.cases[0].attributes.get("op", name) if name == "pointwise" else name
    if name in ("any", "all", "scatter") and kernel.cases[0].outputs[0].dtype is torch.bool_:
        return
    with pytest.raises(AssertionError, match=f"kernel {name}, case .*, output 0"):
        kernel.test(Broken(op))


def test_a_wrong_reference_is_found(monkeypatch):
    right = OPS["softmax"].reference

    class Right(Cpu):
        def run(self, plan, inputs, outputs, scalars):
            with monkeypatch.context() as patched:
                patched.setattr(OPS["softmax"], "reference", right)
                super().run(plan, inputs, outputs, scalars)
    assert kernels.get("softmax").test(Right()) > 0
    monkeypatch.setattr(OPS["softmax"], "reference", lambda np, x, *, dim: right(np, x, dim=dim) * 1.01)
    with pytest.raises(AssertionError, match="kernel softmax, case"):
        kernels.get("softmax").test(Right())


def test_the_device_that_is_compared_with_is_not_tested():
    with pytest.raises(ValueError, match="the cpu device is what kernels are compared with"):
        kernels.get("softmax").test("cpu")


def test_recording_cases_leaves_the_default_device_alone():
    from pyborch.ops.cards import cases
    torch.set_default_device("cpu")
    cases._recorded.clear()
    assert kernels.get("softmax").cases and devices.backend() is devices.backend("cpu")


# packages
@pytest.mark.parametrize("name", ["matmul", "softmax", "pointwise", "random", "sort"])
def test_a_package_holds_the_card_and_its_shaders_and_is_read_back(tmp_path, name):
    kernel = kernels.get(name)
    kernel.export(tmp_path / "out")
    read = {p.stem: json.loads(p.read_text()) for p in (tmp_path / "out").glob("*.json")}
    card = kernel.card
    assert set(read) == {"manifest", "metadata", "test", "bench"}
    shaders = read["manifest"].pop("shaders")
    assert read["manifest"] == {k: v for k, v in card.items() if k not in ("cases", "benchmarks")}
    assert read["test"]["cases"] == card["cases"] and read["bench"]["cases"] == card["benchmarks"]
    assert read["metadata"] == {"name": name, "version": 1, "digest": kernel.digest, "license": "Apache-2.0", "library": "pyborch",
                                "library_version": torch.__version__}
    texts = {p.name: p.read_text() for p in (tmp_path / "out").glob("*.wgsl")}
    assert {s["file"] for s in shaders} == set(texts) and texts
    for text in texts.values():
        assert "@compute" in text and "fn is_nan" in text and text.count("p: Params;") == 1
    assert repr(kernels.load(tmp_path / "out")) == f"<kernel {name} version 1>"


def test_the_package_of_a_product_has_a_shader_of_each_variant(tmp_path):
    kernels.get("matmul").export(tmp_path)
    made = {p.name.rsplit("-", 1)[0] for p in tmp_path.glob("*.wgsl")}
    assert {v["source"] for v in kernels.get("matmul").card["variants"]} <= made


def test_a_package_of_another_kernel_is_refused(tmp_path, monkeypatch):
    kernel = kernels.get("softmax")
    kernel.export(tmp_path)
    old = kernel.digest
    monkeypatch.setitem(kernels._sources, "softmax", kernels.source("softmax") + "\n// newer")
    with pytest.raises(ValueError) as error:
        kernels.load(tmp_path)
    assert old in str(error.value) and kernel.digest in str(error.value) and old != kernel.digest
    monkeypatch.undo()
    assert kernels.load(tmp_path).name == "softmax"
