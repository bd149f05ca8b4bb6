"""The benchmarks' harness: recipes do the same work, files keep their schema, and figures are what they say."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("matplotlib")

import all_libraries
import pipeline
from harness import backends, command, compare, results, threads
from harness.backends import LIBRARIES, Images, Regime
from harness.recipes import always, recipes

import augment.testing

INSTALLED = [library for library in LIBRARIES if library not in backends.missing(list(LIBRARIES))]
SIDE = 16
CLOSE = 1e-3  # a quarter of a level of 255
KORNIA = "kornia's antialias is a blur of its own before the resize"
CENTRE = "v2 counts pixels from their edges, and so fades the border: half a pixel of sixteen"
ROUNDED = "v2 and albumentations round after every step, ours once"
MULTIPLIED = "v2 multiplies, kornia and ours add the factor less one"
CODEC = "libjpeg rounds to whole numbers; kornia's and ours rounds softly, and blurs chroma before it is halved"
REPEATED = "OpenCV repeats edge pixels, kornia and ours mirror about them"
GREYED = "blends an image with its grey, kornia and ours scale the saturation of HSV"
TABLES = "a look-up table with another rounding of its own"
# Mean differences beyond CLOSE at 16 x 16, by label and library, with what may be and why
APART: Mapping[tuple[str, str], tuple[float, str]] = {
    ("ColorJitter", "albumentations"): (0.006, ROUNDED),
    ("ColorJitter", "torchvision"): (0.006, ROUNDED),
    ("ColorJitter[order]", "albumentations"): (0.006, ROUNDED),
    ("ColorJitter[order]", "torchvision"): (0.006, ROUNDED),
    ("RandomAffine", "torchvision"): (0.01, CENTRE),
    ("RandomAutoContrast", "albumentations"): (0.003, "finds its table in bytes, floats too, and truncates"),
    ("RandomAutoContrast", "torchvision"): (0.003, "truncates bytes, ours rounds"),
    ("RandomBrightness", "albumentations"): (0.004, "truncates bytes, ours rounds"),
    ("RandomBrightness", "torchvision"): (0.07, MULTIPLIED),
    ("RandomDownscale", "albumentations"): (0.2, "takes the first pixel of two, ours the one at the middle"),
    ("RandomDownscale", "opencv"): (0.2, "takes the first pixel of two, ours the one at the middle"),
    ("RandomDownscale[area]", "albumentations"): (0.002, ROUNDED),
    ("RandomClahe", "opencv"): (0.11, "tables half a pixel off, which is a quarter of the tiles of sixteen pixels"),
    ("RandomContrast", "albumentations"): (0.003, "truncates bytes, ours rounds"),
    ("RandomEqualize", "albumentations"): (0.02, TABLES),
    ("RandomEqualize", "opencv"): (0.02, TABLES),
    ("RandomGamma", "albumentations"): (0.003, "truncates bytes, ours rounds"),
    ("RandomGrayscale", "torchvision"): (0.003, "truncates bytes, ours rounds"),
    ("RandomJPEG", "albumentations"): (0.03, CODEC),
    ("RandomJPEG", "opencv"): (0.03, CODEC),
    ("RandomJPEG", "torchvision"): (0.03, CODEC),
    ("RandomMedianBlur", "albumentations"): (0.02, REPEATED),
    ("RandomMedianBlur", "opencv"): (0.02, REPEATED),
    ("RandomPerspective", "torchvision"): (0.04, CENTRE),
    ("RandomPlanckianJitter", "albumentations"): (0.003, "truncates bytes, ours rounds"),
    ("RandomPosterize", "torchvision"): (0.003, "floats in sixteenths of 1, ours in sixteenths of 256 levels"),
    ("RandomRGBShift", "albumentations"): (0.003, "truncates the constant, ours rounds the sum"),
    ("RandomResizedCrop", "kornia"): (
        0.004,
        "kornia cuts the window out before it resizes, ours samples it in its image",
    ),
    ("RandomResizedCrop", "torchvision"): (0.015, "antialiased, kornia and ours not"),
    ("RandomRotation", "torchvision"): (0.01, CENTRE),
    ("RandomZoomBlur", "albumentations"): (
        0.05,
        "cuts whole pixels out and enlarges them; the image itself counts twice",
    ),
    ("RandomSnow", "albumentations"): (0.004, "rounds hue, lightness and saturation to bytes"),
    ("RandomSaturation", "albumentations"): (0.04, GREYED),
    ("RandomSaturation", "torchvision"): (0.04, GREYED),
    ("RandomShear", "torchvision"): (0.01, CENTRE),
    ("Resize[antialias]", "kornia"): (0.015, KORNIA),
}
# What a library refuses, by label and library, and the dtype it is refused for
REFUSED = {
    ("RandomClahe", "opencv", "float32"),
    ("RandomEqualize", "opencv", "float32"),
    ("RandomJPEG", "torchvision", "float32"),
    ("RandomPosterize", "opencv", "float32"),
    ("Normalize", "torchvision", "uint8"),
    ("Denormalize", "torchvision", "uint8"),
}


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("recipe", recipes(SIDE), ids=lambda recipe: recipe.label)
def test_every_library_does_the_same_work(recipe: Any, dtype: str) -> None:
    """Each adapter runs, and agrees with ours where nothing is left to chance."""
    images = Images(Regime(4, SIDE, dtype))
    found = list(backends.backends(recipe, images, dict.fromkeys(INSTALLED, ["eager"])))
    assert [b.library for b in found[:2]] == ["floor", "augment"]
    for backend in found:
        library = backend.library.partition(" ")[0]
        if (recipe.label, library, dtype) in REFUSED or (library, dtype) == ("kornia", "uint8"):
            if backend.error is None:
                with pytest.raises(Exception, match=".+"):
                    backend.call()  # type: ignore[misc]
            continue
        assert backend.error is None, backend.error
        backend.call()  # type: ignore[misc]
        if "mean" in backend.agreement:
            bound, _ = APART.get((recipe.label, library), (CLOSE, ""))
            assert backend.agreement["mean"] is not None
            assert backend.agreement["mean"] <= bound, (backend.library, backend.agreement)
        elif library not in ("floor", "augment"):
            assert "note" in backend.agreement


def test_registry_is_walked() -> None:
    assert {recipe.op for recipe in recipes(256)} == set(augment.testing.ops())


def test_adapters_have_no_lines_without_a_recipe() -> None:
    labels = {recipe.label for recipe in recipes(SIDE)}
    for library in INSTALLED[2:]:
        assert backends.adapters(library, SIDE, 1.0).keys() <= labels


def test_distance_is_the_difference_with_white_as_one() -> None:
    a, b = torch.zeros(1, 1, 2, 2, dtype=torch.uint8), torch.tensor([[[[0, 51], [0, 0]]]], dtype=torch.uint8)
    assert backends.distance(a, b) == {"max": 0.2, "mean": 0.05}
    assert backends.distance(a.float(), b.float() / 255) == pytest.approx({"max": 0.2, "mean": 0.05})
    assert backends.distance(a, b[..., :1]) == {"note": "shapes (1, 1, 2, 2) and (1, 1, 2, 1)"}
    assert backends.distance(a.float(), b * float("nan")) == {"max": None, "mean": None}


def test_check_eager_finds_no_difference_in_one_checkout(tmp_path: Path) -> None:
    root = Path(augment.__file__).parents[1]
    text, differing = compare.check_eager(str(root), str(root))
    assert differing == 0 and text.endswith("outputs are bit-equal.")


def test_check_eager_names_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter([{"A, float32, p = 1": "x", "B": "y"}, {"A, float32, p = 1": "z", "B": "y"}])
    monkeypatch.setattr(compare, "digests", lambda folder: next(told))
    text, differing = compare.check_eager(*[str(Path(augment.__file__).parents[1])] * 2)
    assert differing == 1 and "differs: A, float32, p = 1" in text and "B" not in text


@pytest.mark.parametrize("name", ["no such revision", "benchmarks"])
def test_check_eager_refuses_what_is_no_checkout(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert all_libraries.main(["--check-eager", name, "."]) == 2
    assert "--check-eager: expected" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--ops", "RandomNothing"], "argument --ops: expected some of CenterCrop, .* got RandomNothing"),
        (["--libraries", "keras"], "argument --libraries: expected some of augment, .* got keras"),
        (["--device", "tpu"], "argument --device: expected some of cpu, cuda, got tpu"),
        (["--dtype", "int3"], "argument --dtype: expected some of float32, uint8, float16, got int3"),
        (["--mode", "fast"], "argument --mode: expected some of eager, .* got fast"),
        (["--mode", ","], "argument --mode: expected some of eager, .* got nothing"),
        (["--batches", "0"], "argument --batches: expected numbers of images above 0, got 0"),
        (["--batches", "eight"], "argument --batches: expected numbers of images above 0, got eight"),
        (["--threads", "0"], "argument --threads: expected a number above 0, got 0"),
        (["--size", "4"], "argument --size: expected at least 16 pixels, got 4"),
        (["--json", "/proc/none/out.json"], "argument --json: /proc/none/out.json cannot be written"),
        (["--json", "/dev/null"], "argument --json: expected a file, got /dev/null, which is a device or a pipe"),
        (["--json", "a.json", "--markdown", "a.json"], "argument --markdown: expected another file than that of"),
        (["--plot", "/proc/none"], "argument --plot: expected a folder, /proc/none cannot be made one"),
        (["--thr", "2"], "unrecognized arguments: --thr 2"),
        (["--report", "--json", "/tmp/no/such.json"], "argument --report: expected the results file"),
    ],
)
def test_bad_options_are_told_before_anything_runs(
    argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        all_libraries.parse(argv)
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(told, line)


def test_modes_and_batches_are_what_libraries_can_do() -> None:
    args = all_libraries.parse(["--mode", "compiled", "--batches", "2,1,2", "--libraries", "kornia,opencv"])
    assert command.modes(args) == {"kornia": ["compiled"], "opencv": ["eager"]}
    assert args.batches == [2, 1]


def test_one_image_is_always_changed() -> None:
    by_label = {recipe.label: recipe for recipe in recipes(SIDE)}
    assert always(by_label["RandomGamma"]).arguments["p"] == 1.0 != by_label["RandomGamma"].arguments["p"]
    assert always(by_label["Normalize"]) == by_label["Normalize"], "it has no probability"


def test_old_results_stay_until_there_are_new_ones(tmp_path: Path) -> None:
    path, link = tmp_path / "real.json", tmp_path / "link.json"
    path.write_text("old")
    link.symlink_to(path)
    results.write(link, "new")
    assert link.is_symlink() and path.read_text() == "new\n"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (r'"median_ms": [0-9.e-]+', '"median_ms": 0', "median_ms"),
        (r'"median_ms": [0-9.e-]+', '"median_ms": NaN', "NaN is no figure"),
        (r'"cores": [0-9]+', '"core": 2', "'cores' is a required property"),
        (r'"flags": {', '"flags": {}, "more": {', "'size' is a required property|more"),
    ],
)
def test_results_without_sense_are_refused(old: str, new: str, told: str, tmp_path: Path) -> None:
    committed = Path(__file__).parents[2] / "benchmarks" / "results" / "cpu.json"
    path = tmp_path / "bad.json"
    path.write_text(re.sub(old, new, committed.read_text(), count=1))
    with pytest.raises(ValueError, match=told):
        results.read(path)


TINY = ["--size", "16", "--batches", "2", "--quick", "--mode", "eager"]


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the threads of the test run alone: those between ops can be set once in a process."""
    monkeypatch.setattr(threads, "limit", lambda threads: None)


def test_run_writes_rows_that_fit_the_schema(tmp_path: Path, pinned: None, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.json"
    argv = ["--ops", "RandomHorizontalFlip", "--json", str(path), "--plot", str(tmp_path / "plots"), *TINY]
    assert all_libraries.main(argv) == 0
    found = results.read(path)
    assert found["finished"]
    assert {r["library"] for r in found["rows"]} >= {"floor", "augment", "kornia", "albumentations", "opencv"}
    for r in found["rows"]:
        assert r["time"]["q1_ms"] <= r["time"]["median_ms"] <= r["time"]["q3_ms"]
    assert len(list((tmp_path / "plots").glob("*.png"))) == 1
    assert "## Summary" in capsys.readouterr().out
    assert all_libraries.main(["--report", "--json", str(path)]) == 0
    assert all_libraries.main(["--compare", str(path), str(path)]) == 0


def test_interrupted_run_keeps_its_rows_and_goes_on(
    tmp_path: Path, pinned: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.json"
    argv = ["--ops", "Normalize,RandomVerticalFlip", "--libraries", "augment", "--json", str(path), *TINY]
    measured = all_libraries.group
    left = [1]

    def once(*args: Any) -> Any:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return measured(*args)

    monkeypatch.setattr(all_libraries, "group", once)
    assert all_libraries.main(argv) == 130
    cut = results.read(path)
    assert not cut["finished"] and {r["label"] for r in cut["rows"]} == {"Normalize"}
    monkeypatch.setattr(all_libraries, "group", measured)
    assert all_libraries.main([*argv, "--resume"]) == 0
    whole = results.read(path)
    assert whole["finished"] and whole["rows"][: len(cut["rows"])] == cut["rows"]
    assert {r["label"] for r in whole["rows"]} == {"Normalize", "RandomVerticalFlip"}
    assert all_libraries.main([*argv, "--resume", "--threads", "2"]) == 2, "other flags"


def test_failing_backend_is_a_row_with_its_message(tmp_path: Path, pinned: None) -> None:
    path = tmp_path / "out.json"
    argv = ["--ops", "RandomHorizontalFlip", "--dtype", "uint8", "--libraries", "augment,kornia", "--json", str(path)]
    assert all_libraries.main([*argv, *TINY]) == 0
    (failed,) = [r for r in results.read(path)["rows"] if r["error"]]
    assert failed["library"] == "kornia" and "uint8" in failed["error"] and failed["time"] is None


def test_missing_library_is_one_line(
    tmp_path: Path, pinned: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(backends.MODULES, "opencv", "no_such_module")
    argv = ["--ops", "RandomHorizontalFlip", "--libraries", "augment,opencv", "--json", str(tmp_path / "x.json")]
    assert all_libraries.main([*argv, *TINY]) == 0
    shown = capsys.readouterr()
    assert [line for line in shown.err.splitlines() if line.startswith("skipped:")] == [
        "skipped: opencv is not installed (No module named 'no_such_module')"
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"version": 1})])
def test_other_files_are_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert all_libraries.main(["--compare", str(path), str(path)]) == 2
    assert str(path) in capsys.readouterr().err


def test_committed_results_fit_the_schema() -> None:
    folder = Path(all_libraries.__file__).parent / "results"
    for path in folder.glob("*.json"):
        if not path.name.startswith("last"):
            schemas = {"training": results.TRAINING, "mixes": results.MIXES}
            results.read(path, schemas.get(path.stem.partition("_")[0], results.SCHEMA))


@pytest.mark.parametrize("name", ["classification", "detection", "segmentation"])
def test_pipelines_run_for_every_library(name: str, tmp_path: Path, pinned: None) -> None:
    path = tmp_path / "out.json"
    argv = ["--pipelines", name, "--size", "32", "--batches", "2", "--quick", "--mode", "eager", "--json", str(path)]
    assert pipeline.main(argv) == 0
    rows = results.read(path)["rows"]
    assert [r["error"] for r in rows] == [None] * len(rows)
    shown = {"torchvision": "torchvision loop"}
    near = {r["library"]: r["agreement"]["mean"] for r in rows if r["agreement"]}
    assert near.keys() == {shown.get(x, x) for x in INSTALLED if x not in ("augment", "opencv")}
    bounds = {"kornia": 0.002, "albumentations": 0.006, "torchvision loop": 0.015}  # bytes of a warp, and antialias
    twice = 0.02 if name == "segmentation" else 0  # they resample twice, which blurs 32 x 32 pixels more than once does
    assert all(near[library] < bounds[library] + twice for library in near), near
    assert {r["library"] for r in rows} == {"floor", *(shown.get(x, x) for x in INSTALLED if x != "opencv")}
