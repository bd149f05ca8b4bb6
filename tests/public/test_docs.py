"""What the README, docs/ and CONTRIBUTING say is true: blocks of Python in the first two run as they stand there."""

import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

import augment
from augment.__main__ import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
NEEDS = {"arrays-and-bytes": "numpy", "saving": "yaml", "tv-tensors": "torchvision"}  # packages that a page asks for
CHEAP = {"info", "list", "--version"}  # what is run of the command line


class Block(NamedTuple):
    """A block of code in a page."""

    page: Path
    line: int  # of the page, where the text begins
    language: str
    text: str


def blocks(page: Path, language: str) -> list[Block]:
    """Blocks of a page in a language, first to last."""
    text = page.read_text()
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    every = [Block(page, text[: match.start(2)].count("\n"), *match.groups()) for match in found]
    return [block for block in every if block.language == language]


def name(page: Path) -> str:
    return page.stem


@pytest.fixture
def own_backend(monkeypatch: pytest.MonkeyPatch, optimizer: str) -> None:
    """Compile with the backend that the tests were asked for, where a block names none."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=optimizer))


# ------------------------------------------------------------------------------------------------------------ the code


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
@pytest.mark.usefixtures("own_backend")
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the blocks of a page one after the other; what they print is what the comment on the line says."""
    pytest.importorskip(NEEDS.get(page.stem, "torch"))
    monkeypatch.chdir(tmp_path)
    lines = page.read_text().splitlines()

    def checked_print(*values: Any) -> None:
        line = lines[sys._getframe(1).f_lineno - 1]
        if "  # " in line:
            assert " ".join(map(str, values)) == line.partition("  # ")[2]

    names: dict[str, Any] = {"__name__": "page", "print": checked_print}
    for block in blocks(page, "python"):
        exec(compile("\n" * block.line + block.text, str(page), "exec"), names)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "bash")], ids=name)
def test_cheap_commands_run(page: Path) -> None:
    for line in "".join(block.text for block in blocks(page, "bash")).splitlines():
        program, *args = shlex.split(line, comments=True) or [""]
        if args[:2] == ["-m", "augment"] and args[2] in CHEAP:
            assert program == "python"
            assert main(args[2:]) == 0, line


def test_first_block_is_the_two_commands() -> None:
    block = blocks(ROOT / "README.md", "bash")[0]
    assert block.text.splitlines() == [
        'pip install -e ".[demo]" && python -m augment preview',
        'pip install -e ".[test]" && KORNIA_TEST_OPTIMIZER=inductor pytest -n 2',
    ]
    assert all(block.line <= other.line for other in blocks(ROOT / "README.md", "python"))


# ------------------------------------------------------------------------------------------------------------ the text


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_table_of_ops_is_the_registry() -> None:
    table = (ROOT / "docs" / "ops.md").read_text().split("<!-- ops -->")[1].split("<!-- /ops -->")[0].strip()
    command = [sys.executable, "-m", "augment", "list", "--markdown"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert table == done.stdout.strip()


def test_index_and_readme_lead_to_every_page() -> None:
    pages = {page.name for page in PAGES[1:]} - {"README.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "README.md").read_text())) == pages
    assert set(re.findall(r"\]\(docs/([\w-]+\.md)\)", (ROOT / "README.md").read_text())) >= pages


def anchors(page: Path) -> Iterator[str]:
    """Names of a page's headings, as they stand in links."""
    for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_names_exist(page: Path) -> None:
    """`K.name` and `K.name.other` are public."""
    for dotted in set(re.findall(r"\bK\.([A-Za-z_][\w.]*\w)", page.read_text())):
        found: Any = augment
        for part in dotted.split("."):
            found = getattr(found, part, None)
            assert found is not None, f"K.{dotted}"
        assert dotted.split(".")[0] in augment.__all__, f"K.{dotted} is not public"


def test_every_public_name_is_told() -> None:
    words = set(re.findall(r"\w+", "\n".join(page.read_text() for page in PAGES)))
    assert set(augment.__all__) <= words


# --------------------------------------------------------------------------------------------------------- the figures

SPEED = (ROOT / "README.md", ROOT / "docs" / "speed.md")


@pytest.mark.parametrize("page", SPEED, ids=name)
def test_table_of_speed_is_what_was_measured(page: Path) -> None:
    from harness import report, results

    folder = ROOT / "benchmarks" / "results"
    cpu, pipelines, kernels, both = (
        report.overview(results.read(folder / f"{run}.json"))
        for run in ("cpu", "pipelines", "bytes", "pipelines_bytes")
    )
    lines = page.read_text().partition(f"{cpu}\n")[2].splitlines()[:3]

    def cells(line: str) -> list[str]:
        return [cell.strip() for cell in line.strip("|").split("|")]

    def row(overview: str) -> list[str]:
        head, _, values, *_ = map(cells, overview.splitlines())
        found = dict(zip(head, values, strict=True))
        return [found.get(column, "") for column in cells(cpu.splitlines()[0])[1:]]

    assert [cells(line)[1:] for line in lines] == [row(pipelines), row(kernels), row(both)]


def test_table_of_pipelines_is_what_was_measured() -> None:
    from harness import report, results

    data = results.read(ROOT / "benchmarks" / "results" / "pipelines_bytes.json")
    text = SPEED[1].read_text()
    found = {(r.label, r.peer): f"{r.value:.2f}x" for r in report.ratios(data["rows"])}
    for label in {label for label, _ in found}:
        assert f"| {label} | {found[label, 'torchvision loop']} | {found[label, 'albumentations']} |" in text


def test_readme_counts_the_ops() -> None:
    from augment.testing import mixes, ops

    policies = len(augment.policies.__all__) - 1  # and the names of their operations
    told = f"There are {len(ops())} ops for single images, {len(mixes())} mixes and {policies} policies."
    assert told in (ROOT / "README.md").read_text()


def test_op_in_contributing_is_the_one_of_the_library() -> None:
    (block,) = blocks(ROOT / "CONTRIBUTING.md", "python")
    assert block.text == inspect.getsource(augment.RandomRotation)
    file = inspect.getsourcefile(augment.RandomRotation)
    assert file and f"`{Path(file).relative_to(ROOT).as_posix()}`" in (ROOT / "CONTRIBUTING.md").read_text()
