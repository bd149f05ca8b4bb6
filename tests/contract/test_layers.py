"""A folder of the package imports from itself and from the folders below it, and nothing runs in a circle."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent / "augment"
LAYERS = (  # from the ground up; folders of one floor do not know each other
    ("common", "_kernels"),
    ("sampling",),
    ("kernels",),
    ("maps",),
    ("targets",),
    ("kinds",),
    ("ops",),
    ("policies",),
    ("containers",),
    ("saving", "composition"),
    ("", "testing"),
    ("gallery", "examples"),
    ("__main__",),
)
FLOOR = {room: i for i, rooms in enumerate(LAYERS) for room in rooms}
FILES = sorted(ROOT.rglob("*.py"))
OPTIONAL = (
    "__main__",
    "gallery",
    "examples",
    "targets.arrays",
    "saving.pipelines",
)  # what is imported when it is needed


def name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path: Path, inside: bool | None = None) -> list[str]:
    """Give the modules of the package that a file imports, ``inside`` functions or not, as a file or a folder."""
    here = path.relative_to(ROOT).parent.parts
    tree = ast.parse(path.read_text())
    inner = {n for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) for n in ast.walk(f)}
    found = []
    for node in ast.walk(tree):
        if inside is not None and (node in inner) != inside:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            found += [".".join(name[1:]) for name in names if name[0] == "augment"]
            continue
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = list(here[: len(here) - node.level + 1])
        elif (node.module or "").partition(".")[0] == "augment":
            base = []
        else:
            continue
        module = [part for part in (node.module or "").split(".") if part not in ("", "augment")]
        for alias in node.names:
            whole = [*base, *module, alias.name]
            file = ROOT.joinpath(*whole)
            forms = file.with_suffix(".py"), file.with_suffix(".pyi"), file / "__init__.py"
            found.append(".".join(whole if any(form.exists() for form in forms) else whole[:-1]))
    return found


def room(module: str) -> str:
    return module.partition(".")[0]


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_lead_down(path: Path) -> None:
    own = room(name(path))
    for module in imports(path):
        other = room(module)
        assert other == own or FLOOR[other] < FLOOR[own], f"{name(path)} imports {module}, which is not below it"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_imports_stand_at_the_top(path: Path) -> None:
    assert name(path).startswith(OPTIONAL) or not imports(path, inside=True)


def test_no_circle() -> None:
    graph = {name(path): set(imports(path)) - {name(path)} for path in FILES}
    while leaves := {module for module, needed in graph.items() if not needed & graph.keys()}:
        graph = {module: needed for module, needed in graph.items() if module not in leaves}
    assert not graph


def test_kernels_keep_to_their_family() -> None:
    """Maths knows torch, ``common`` and other maths; an entry, of other families, their maths alone."""
    for path in (ROOT / "kernels").glob("*/*.py"):
        family, backends = path.parent.name, ("entry", "c", "triton")
        for module in imports(path):
            parts = module.split(".")
            foreign = parts[0] == "kernels" and len(parts) == 3 and parts[1] != family
            assert not (foreign and parts[2] in backends), f"{name(path)} uses {module}"
            if path.stem == "maths":
                assert parts[0] in ("common", "kernels") and parts[-1] not in backends, f"{name(path)} uses {module}"


def test_sizes() -> None:
    """No file over 400 lines, no function over 60, few modules at the root, and little that all others rest on."""
    for path in FILES:
        text = path.read_text()
        assert text.count("\n") <= 400, name(path)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno - node.lineno < 60, f"{name(path)}.{node.name}"
    assert len([path for path in FILES if path.parent == ROOT]) <= 6
    assert sum(path.read_text().count("\n") for path in (ROOT / "common").glob("*.py")) <= 400


def test_nothing_is_imported_by_name_at_run_time() -> None:
    """But packages that are optional."""
    for path in FILES:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        allowed = name(path) in ("saving.pipelines", "__main__")
        assert allowed or not names & {"import_module", "__import__"}, name(path)


def test_common_needs_torch_alone() -> None:
    for path in (ROOT / "common").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0):
                for module in [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]:
                    assert module.partition(".")[0] in {"torch", *__import__("sys").stdlib_module_names}
