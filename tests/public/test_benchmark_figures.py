"""The figures of the benchmarks: ratios, summaries, comparisons, and how all is measured."""

import functools
import math
import signal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch

pytest.importorskip("matplotlib")

from harness import compare, measure, plot, report, results


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
    found = {"version": results.VERSION, "kind": "ops", "command": "", "environment": where, "flags": {}}
    found["flags"] = {"threads": 1, "size": 4, "regimes": []}
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
    assert (found.peer, found.value, found.noisy) == ("albumentations uint8", 0.5, False)
    wide = row("albumentations", [2.0, 1.0, 3.0, 1.5, 2.5], **byte)
    assert report.on_its_ground([*rows[:3], wide])[0].noisy, "quartiles of other minutes leave it open"


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
    root = Path(__file__).parents[2]
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


def test_what_compiles_too_long_is_stopped() -> None:
    def stubborn() -> None:
        while True:
            try:
                while True:
                    pass
            except Exception:
                pass

    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(RuntimeError, match="longer than 0.1 seconds"), measure.limited(0.1):
        stubborn()
    assert signal.getsignal(signal.SIGALRM) is before and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with measure.limited(60.0):
        pass


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


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "pipelines"}, "same kind, got ops and pipelines"),
        ({"environment": {"cpu": "other"}}, "same cpu, got  and other"),
        ({"flags": {"threads": 2}}, "same threads, got 1 and 2"),
        ({"rows": []}, "rows of augment that both files have"),
    ],
)
def test_compare_refuses_what_was_not_measured_alike(change: dict[str, Any], told: str) -> None:
    before = data(row("augment", [2.0] * 5))
    with pytest.raises(ValueError, match=told):
        compare.compare(before, {**before, **change})


def test_compare_flags_new_failures() -> None:
    text, regressions = compare.compare(data(row("augment", [1.0] * 3)), data(row("augment", [])))
    assert regressions == 1 and "**fails now**" in text
    assert compare.compare(data(row("augment", [])), data(row("augment", [1.0] * 3)))[1] == 0


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


def test_compilation_counts_graphs_and_says_what_breaks(monkeypatch: pytest.MonkeyPatch, optimizer: str) -> None:
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=optimizer))
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


def test_schema_wants_a_time_or_an_error() -> None:
    jsonschema.validate(data(row("augment", [1.0])), results.SCHEMA)
    for broken in ({"time": None}, {"error": "x"}, {"library": ""}, {"more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data({**row("augment", [1.0]), **broken}), results.SCHEMA)
