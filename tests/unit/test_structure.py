"""The house keeps its order: rooms, documentation, what an import pulls in."""
import ast
import pathlib
import subprocess
import sys

import pyborch

ROOT = pathlib.Path(pyborch.__file__).resolve().parent
# Lower rooms first; a module may import its own room and those before it.
ROOMS = ["errors", "unsupported",
         "dtypes", "shape", "devices", "kernels", "autograd", "random", "ops", "printing",
         "indexing", "_tensor", "tuner", "compiler", "nn", "optim", "amp", "ao", "data", "io", "export", "linalg", "special", "masked", "utils", "profiler",
         "func", "distributions", "as_torch"]


def modules():
    return [p for p in sorted(ROOT.rglob("*.py")) if p != ROOT / "__init__.py"]


def top_level_imports(path):
    """(room imported, line) for imports that run when the module is imported."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[:len(package) - node.level + 1]
            target = (*base, *(node.module or "").split(".")) if node.module else base
            names = [target[0]] if target else [alias.name for alias in node.names]
            yield from ((name, node.lineno) for name in names)


def test_imports_never_go_upwards():
    wrong = []
    for path in modules():
        room = path.relative_to(ROOT).with_suffix("").parts[0]
        for name, line in top_level_imports(path):
            if name in ROOMS and ROOMS.index(name) > ROOMS.index(room):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert wrong == []


def test_every_room_is_known():
    assert {p.relative_to(ROOT).with_suffix("").parts[0] for p in modules()} == set(ROOMS)


def test_only_the_two_gates_import_the_browser():
    found = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            if any(n.split(".")[0] in ("js", "pyodide", "pyodide_js") and n != "pyodide.http" for n in names):
                found.add(str(path.relative_to(ROOT)))
    assert found <= {"devices/webgpu.py", "io/_web.py"}


def test_every_public_name_is_listed_and_documented():
    assert pyborch.__all__ == sorted(pyborch.__all__)
    undocumented = [name for name in pyborch.__all__ if callable(value := getattr(pyborch, name)) and not (value.__doc__ or "").strip()]
    undocumented += [f"Tensor.{name}" for name, value in vars(pyborch.Tensor).items()
                     if not name.startswith("_") and (callable(value) or isinstance(value, property)) and not (value.__doc__ or "").strip()]
    for package in (pyborch.nn, pyborch.optim, pyborch.data, pyborch.io, pyborch.tuner, pyborch.ao.quantization):
        assert package.__all__ == sorted(package.__all__)
        undocumented += [f"{package.__name__}.{name}" for name in package.__all__
                         if callable(value := getattr(package, name)) and not (value.__doc__ or "").strip()]
    assert undocumented == []


def test_importing_pulls_in_nothing_heavy():
    code = "import sys, pyborch; print([m for m in ('numpy', 'ast', 'inspect', 'typing', 'asyncio', 'pyborch.nn', 'pyborch.optim') if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=ROOT.parent, check=True)
    assert answer.stdout.strip() == "[]"


def test_no_file_is_too_long_to_read():
    assert [str(p.relative_to(ROOT)) for p in modules() if len(p.read_text().splitlines()) > 600] == []
