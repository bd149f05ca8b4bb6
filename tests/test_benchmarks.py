"""The benchmarks' harness: recipes do the same work, files keep their schema, and figures are what they say."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch

pytest.importorskip("matplotlib")

import all_libraries
import pipeline
from harness import backends, compare, measure, plot, report, results, threads
from harness.backends import LIBRARIES, Images, Regime
from harness.recipes import recipes

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
    ("RandomShear", "torchvision"): (0.01, CENTRE),
    ("Resize[antialias]", "kornia"): (0.015, KORNIA),
}
# What a library refuses, by label and library, and the dtype it is refused for
REFUSED = {
    ("RandomClahe", "opencv", "float32"),
    ("RandomEqualize", "opencv", "float32"),
    ("RandomJPEG", "torchvision", "float32"),
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


def row(library: str, rounds: list[float], **more: Any) -> dict[str, Any]:
    """Give a row whose rounds took so many milliseconds."""
    regime = {"batch": 2, "side": 4, "dtype": "float32", "device": "cpu", "strides": [48, 16, 4, 1]}
    regime |= more.pop("regime", {})
    took = {**measure.spread(rounds), "rounds": rounds, "repeats": len(rounds)} if rounds else None
    error = None if rounds else "ValueError: broken"
    found = {"label": "Op", "library": library, "mode": "eager", "regime": regime, "did": {}, "time": took}
    return {**found, "peak_bytes": None, "compile": None, "agreement": {}, "error": error, **more}


def data(*rows: dict[str, Any]) -> dict[str, Any]:
    """Give a results file."""
    where = {"date": "", "commit": "", "cpu": "", "cores": 1, "capability": "", "gpu": None, "system": ""}
    where |= {"python": "", "packages": {}, "threads": {}}
    found = {"version": results.VERSION, "kind": "ops", "command": "", "environment": where, "flags": {"threads": 1}}
    return {
        **found,
        "skipped": {"opencv": "No module named 'cv2'"},
        "finished": True,
        "seconds": 90.0,
        "rows": list(rows),
    }


def test_ratio_is_of_the_better_modes() -> None:
    rows = [row("augment", [4.0] * 5), row("augment", [2.0] * 5, mode="compiled")]
    rows += [row("kornia", [6.0] * 5), row("kornia", [], mode="compiled"), row("albumentations", [1.0] * 5)]
    assert {r.peer: (r.value, r.noisy) for r in report.ratios(rows)} == {
        "kornia": (3.0, False),
        "albumentations": (0.5, False),
    }


def test_ratio_is_noisy_where_rounds_disagree() -> None:
    steady, jumping = [2.0] * 5, [2.0, 3.0, 2.0, 3.0, 1.0]
    assert report.ratio(row("augment", steady), row("kornia", jumping)) == (1.0, True)
    together = [2.0, 4.0, 2.0, 4.0, 2.0]  # the machine slows both
    assert report.ratio(row("augment", together), row("kornia", [2 * t for t in together])) == (2.0, False)
    assert report.ratio(row("augment", [1.0, 1.0]), row("kornia", [1.0, 1.0]))[1], "two rounds say nothing"


def test_summary_names_losses_and_the_worst() -> None:
    rows = [row("augment", [2.0] * 5), row("kornia", [16.0] * 5), row("torchvision batch", [1.0] * 5)]
    rows += [row("augment", [2.0] * 5, label="Other"), row("kornia", [1.0] * 5, label="Other")]
    text = report.summary(data(*rows))
    assert "kornia: 2.00x as geometric mean over 2 rows; 1 won, 0 even, 1 lost: Other 0.50x" in text
    assert "torchvision batch: 0.50x as geometric mean over 1 rows; 0 won, 0 even, 1 lost: Op 0.50x" in text
    worst = text.partition("The worst rows")[2]
    assert worst.index("against kornia: 0.50x") < worst.index("against kornia: 8.00x")
    assert "Skipped: opencv" in text
    assert "not finished" in report.summary({**data(*rows), "finished": False})


def test_our_better_dtype_meets_the_loop_on_bytes() -> None:
    byte = {"regime": {"dtype": "uint8"}}
    rows = [row("augment", [4.0] * 3), row("augment", [8.0] * 3, **byte), row("albumentations", [1.0] * 3)]
    rows += [row("albumentations", [2.0] * 3, **byte)]
    (found,) = report.on_its_ground(rows)
    assert (found.peer, found.value) == ("albumentations uint8", 0.5)


def test_overview_counts_rows() -> None:
    byte = {"regime": {"dtype": "uint8"}}
    rows = [row("augment", [2.0] * 3), row("kornia", [16.0] * 3), row("augment", [2.0] * 3, label="Other")]
    rows += [row("kornia", [1.0] * 3, label="Other"), row("albumentations", [2.0] * 3, **byte)]
    lines = report.overview(data(*rows)).splitlines()
    assert lines[0] == "| regime | kornia | albumentations |"
    assert lines[2:] == [
        "| 2 x 3 x 4 x 4 float32 | 2.00x (1, 0, 1) |  |",
        "| 2 x 3 x 4 x 4, better of float32 and uint8 |  | 1.00x (0, 1, 0) |",
    ]


def test_readme_shows_the_committed_figures() -> None:
    root = Path(__file__).parents[1]
    found = results.read(root / "benchmarks" / "results" / "cpu.json")
    assert report.overview(found) in (root / "README.md").read_text()


def test_tables_show_failures_and_costs() -> None:
    compiled = {"cold_s": 1.25, "graphs": 2, "recompiles": 1, "broken": "Unsupported: x"}
    rows = [row("floor", [0.5] * 3), row("augment", [2.0] * 3, peak_bytes=2 * 2 * 3 * 4 * 4 * 4)]
    rows += [row("kornia", [1.0] * 3, mode="compiled", compile=compiled), row("kornia", [])]
    rows += [row("albumentations", [1.0] * 3, agreement={"max": 0.5, "mean": 0.25})]
    text = report.tables(data(*rows))
    assert "- Op, kornia eager, 2 x 3 x 4 x 4 float32 on cpu: `ValueError: broken`" in text
    assert "1.2, 2, 1 (breaks)" in text
    assert "| 4.0 |" in text, "ours over the copy"
    assert "| 2.0 |" in text, "batches of memory"
    assert "0.5, 0.2" in text
    assert "**0.50x**" in text, "a loss is set in bold"


def test_plot_keeps_the_bars_of_an_op_together_in_panels_of_one_height() -> None:
    found = [report.Ratio(f"Op{i}", "", peer, 2.0, False) for i in range(100) for peer in report.PEERS[: 1 + i % 3]]
    parts = plot.panels(found)
    assert [r for part in parts for bars in part for r in bars] == found, "none lost, in their order"
    assert all(len({r.label for r in bars}) == 1 for part in parts for bars in part)
    tall = [sum(map(plot.height, part)) for part in parts]
    assert len(parts) == math.ceil((len(found) + 80) / plot.LINES) and max(tall) - min(tall) < 4


def test_small_ratios_keep_a_figure() -> None:
    assert [str(report.Ratio("", "", "", value, False)) for value in (0.0048, 0.1, 12.345)] == [
        "0.005x",
        "0.10x",
        "12.35x",
    ]


def test_what_goes_on_compiling_is_not_timed() -> None:
    measure.settled({"draws": 20, "recompiles": 20})
    measure.settled({"draws": 3, "recompiles": 0})  # slow, but it has settled
    with pytest.raises(RuntimeError, match="3 new graphs over 4 draws in 15 seconds"):
        measure.settled({"draws": 4, "recompiles": 3})


def test_compare_flags_what_is_beyond_the_noise() -> None:
    before = data(row("augment", [2.0] * 5), row("augment", [2.0, 2.4, 1.6] * 3, label="Wild"), row("floor", [1.0] * 5))
    after = data(row("augment", [2.6] * 5), row("augment", [2.3, 2.7, 1.9] * 3, label="Wild"), row("floor", [1.0] * 5))
    text, regressions = compare.compare(before, after)
    assert regressions == 1
    assert "| Op | eager | 2 x 3 x 4 x 4 float32 on cpu | **slower** |" in text
    assert "| Wild | eager | 2 x 3 x 4 x 4 float32 on cpu | same |" in text


def test_compare_takes_the_machines_drift_out() -> None:
    before = data(row("augment", [2.0] * 5), row("floor", [1.0] * 5))
    slower = data(row("augment", [4.0] * 5), row("floor", [2.0] * 5))
    assert compare.compare(before, slower)[1] == 0
    assert compare.compare(before, data(row("augment", [4.0] * 5), row("floor", [1.0] * 5)))[1] == 1


def test_compare_flags_new_failures() -> None:
    text, regressions = compare.compare(data(row("augment", [1.0] * 3)), data(row("augment", [])))
    assert regressions == 1 and "**fails now**" in text
    assert compare.compare(data(row("augment", [])), data(row("augment", [1.0] * 3)))[1] == 0


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
        (["--report", "--json", "/tmp/no/such.json"], "argument --report: expected the results file"),
    ],
)
def test_bad_options_are_told_before_anything_runs(
    argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        all_libraries.parse(argv)
    assert stop.value.code == 2
    assert __import__("re").search(told, capsys.readouterr().err.splitlines()[-1])


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


def test_schema_wants_a_time_or_an_error() -> None:
    jsonschema.validate(data(row("augment", [1.0])), results.SCHEMA)
    for broken in ({"time": None}, {"error": "x"}, {"library": ""}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data({**row("augment", [1.0]), **broken}), results.SCHEMA)


def test_committed_results_fit_the_schema() -> None:
    folder = Path(all_libraries.__file__).parent / "results"
    for path in folder.glob("*.json"):
        if not path.name.startswith(("last", "training")):
            results.read(path)


def test_times_interleave_and_count() -> None:
    order: list[str] = []
    found = measure.times({key: lambda key=key: order.append(key) for key in "ab"}, 3, 1e-4, 1)
    assert all(len(t["rounds"]) == 3 and t["repeats"] > 0 and t["median_ms"] > 0 for t in found.values())
    switches = sum(x != y for x, y in zip(order, order[1:], strict=False))
    assert switches == 2 + 2 * 3 - 1, "one look at each, then three rounds of both"


def test_call_that_may_do_nothing_has_its_expected_time() -> None:
    busy, idle = ({**measure.spread([t] * 3), "rounds": [t] * 3, "repeats": 3} for t in (8.0, 1.0))
    found = measure.mixed(busy, idle, 0.25)
    assert (found["median_ms"], found["rounds"], found["repeats"]) == (6.25, [6.25] * 3, 6)


def test_peak_counts_what_a_call_holds() -> None:
    size = 64 * 2**20

    def call() -> torch.Tensor:
        beside = torch.ones(size // 4)
        return beside + 1

    found = measure.peak(call, "cpu")
    if found is None:
        pytest.skip("no high-water mark on this system")
    assert math.isclose(found, 2 * size, rel_tol=0.1)


def test_compilation_counts_graphs_and_says_what_breaks() -> None:
    x = torch.ones(8)
    measure.wake_compiler()
    call, facts = measure.compilation(lambda x: x + 1, lambda f: lambda: f(x), "compiled")
    assert (facts["graphs"], facts["recompiles"], facts["broken"]) == (1, 0, None) and facts["cold_s"] > 0
    assert call().eq(2).all()

    def breaking(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    _, facts = measure.compilation(breaking, lambda f: lambda: f(x), "compiled")
    assert facts["broken"] is not None and facts["graphs"] == 2


@pytest.mark.parametrize("name", ["classification", "detection", "segmentation"])
def test_pipelines_run_for_every_library(name: str, tmp_path: Path, pinned: None) -> None:
    path = tmp_path / "out.json"
    argv = ["--pipelines", name, "--size", "32", "--batches", "2", "--quick", "--mode", "eager", "--json", str(path)]
    assert pipeline.main(argv) == 0
    rows = results.read(path)["rows"]
    assert [r["error"] for r in rows] == [None] * len(rows)
    shown = {"torchvision": "torchvision loop"}
    assert {r["library"] for r in rows} == {"floor", *(shown.get(x, x) for x in INSTALLED if x != "opencv")}
