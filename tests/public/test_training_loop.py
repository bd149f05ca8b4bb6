"""The benchmark of a training loop: its data, what the libraries hand to the network, its figures and its refusals."""

import importlib.util
import json
import os
import random

import pytest
import torch
from torch.testing import assert_close

pytest.importorskip("numpy")
pytest.importorskip("PIL")
pytest.importorskip("skimage")
pytest.importorskip("tqdm")

import training_loop as loop
from harness import measure, results, training
from harness import training_data as data

IMAGES, BATCH, SIZE = 40, 8, 32
LIBRARIES = [name for name in training.LIBRARIES if name != "augment-compiled"]


def need(library):
    if library in training.NEEDS:
        pytest.importorskip(training.NEEDS[library])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def folder(root):
    return data.write_data(root, data.photographs(), IMAGES)


def settings(root, *flags):
    base = ("--images", IMAGES, "--batch", BATCH, "--size", SIZE, "--epochs", 2, "--workers", 0, "--data", root)
    return [str(word) for word in (*base, *flags)]


def images_of(library, folder, root, recipe="classification", rows=BATCH):
    """Give the batch that the network sees of the first images, and what was on disk."""
    args = loop.parse(settings(root, "--recipe", recipe))
    backend = training.build(library, folder, args)
    assert backend.error is None
    photos = backend.batches.dataset
    torch.manual_seed(0)
    seen = backend.augmented(torch.stack([photos[i][0] for i in range(rows)]))
    return seen, torch.stack([data.as_tensor(data.decode(file)) for file in photos.files[:rows]])


# --------------------------------------------------------------------------------------------------------------- data


def test_the_same_files_are_written_again(folder, tmp_path):
    again = data.write_data(tmp_path, data.photographs(), IMAGES)
    one, other = (sorted(path.relative_to(at) for path in at.rglob("*.*")) for at in (folder, again))
    assert one == other
    assert len(one) == IMAGES + 1
    assert all((folder / name).read_bytes() == (again / name).read_bytes() for name in one)


def test_splits_are_disjoint_and_balanced(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    sizes = {name: data.Image.open(path).size for name, path in data.photographs().items()}
    assert len(manifest["files"]["valid"]) == round(IMAGES * data.HELD_OUT)
    for part, entries in manifest["files"].items():
        counts = [sum(entry["label"] == k for entry in entries) for k in range(len(manifest["classes"]))]
        assert max(counts) - min(counts) <= 1
        for entry in entries:
            (width, height), (left, top, right, bottom) = sizes[entry["photo"]], entry["box"]
            strip = [round(width * edge) for edge in data.STRIP]
            assert manifest["classes"][entry["label"]] == entry["photo"]
            assert 0 <= left < right <= width
            assert 0 <= top < bottom <= height
            assert right - left == bottom - top
            inside, beside = strip[0] <= left and right <= strip[1], right <= strip[0] or left >= strip[1]
            assert inside if part == "valid" else beside


@pytest.mark.parametrize("size", [(451, 300), (1411, 1411), (120, 60)])
@pytest.mark.parametrize("held_out", [True, False])
def test_crops_fit_into_photographs_of_any_size(size, held_out):
    draw = random.Random(0)
    for _ in range(50):
        left, top, right, bottom = data.crop_box(size, held_out, draw)
        assert 0 <= left < right <= size[0]
        assert 0 <= top < bottom <= size[1]


def test_a_complete_folder_is_kept_and_a_broken_one_written_again(folder, root):
    manifest = folder / "manifest.json"
    file = folder / json.loads(manifest.read_text())["files"]["train"][0]["file"]
    before = manifest.stat().st_mtime_ns
    assert data.write_data(root, data.photographs(), IMAGES) == folder
    assert manifest.stat().st_mtime_ns == before
    file.unlink()
    data.write_data(root, data.photographs(), IMAGES)
    assert file.is_file()
    manifest.write_text("{")
    data.write_data(root, data.photographs(), IMAGES)
    assert json.loads(manifest.read_text())["classes"] == sorted(data.photographs())


def test_decoded_images_are_rgb(folder):
    file = next((folder / "train" / "coffee").glob("*.jpg"))
    image = data.decode(file)
    assert image.shape == (data.STORED, data.STORED, 3)
    assert image[..., 0].mean() > image[..., 2].mean() + 20  # wood and red china


# ---------------------------------------------------------------------------------------------------------- libraries


@pytest.mark.parametrize("recipe", training.RECIPES)
@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "decode"])
def test_the_network_sees_normalised_images(library, recipe, folder, root):
    need(library)
    seen, stored = images_of(library, folder, root, recipe)
    assert seen.shape == (BATCH, 3, SIZE, SIZE)
    assert seen.dtype == torch.float32
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in (training.MEAN, training.STD))
    shown, unit = seen * std + mean, stored.float() / 255
    assert -1e-3 <= shown.min() <= 0.2  # all use the whole of [0, 1]
    assert 0.8 <= shown.max() <= 1 + 1e-3
    assert_close(shown.mean(), unit.mean(), atol=0.1, rtol=0)
    assert_close(shown.std(), unit.std(), atol=0.1, rtol=0)


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "decode"])
def test_rows_stay_in_their_places(library, folder, root):
    need(library)
    rows = 24
    seen, stored = images_of(library, folder, root, "affine", rows)
    colours, originals = (x.float().mean((2, 3)) - x.float().mean((0, 2, 3)) for x in (seen, stored))
    alike = torch.nn.functional.cosine_similarity(colours[:, None], originals[None], dim=2)
    assert alike.diagonal().mean() > alike.mean() + 0.5


def test_compiled_and_eager_show_the_network_the_same(folder, root, monkeypatch):
    compiled = torch.compile
    monkeypatch.setattr(torch, "compile", lambda *args, **kwargs: compiled(*args, **kwargs, backend="eager"))
    one, other = (images_of(name, folder, root)[0] for name in ("augment", "augment-compiled"))
    assert_close(one, other)


def test_all_start_from_the_same_weights_and_order(folder, root):
    args = loop.parse(settings(root))
    one, other = (training.build(name, folder, args) for name in ("augment", "none"))
    for a, b in zip(one.trainer.model.parameters(), other.trainer.model.parameters(), strict=True):
        assert torch.equal(a, b)
    for (images, labels), (theirs, their_labels) in zip(one.batches, other.batches, strict=True):
        assert torch.equal(images, theirs)
        assert torch.equal(labels, their_labels)


def test_warming_up_teaches_nothing(folder, root):
    backend = training.build("none", folder, loop.parse(settings(root)))
    training.warm_up(backend)
    assert backend.first_call > 0
    fresh = backend.trainer.fresh()
    for a, b in zip(backend.trainer.model.parameters(), fresh.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_network_learns():
    torch.manual_seed(0)
    trainer = training.Trainer(2, 12)
    labels = torch.arange(16) % 2
    images = torch.randn(16, 3, SIZE, SIZE) * 0.1 + labels.view(-1, 1, 1, 1)
    losses = [trainer.step(images, labels) for _ in range(12)]
    assert losses[-1] < losses[0] / 2
    assert 0 <= trainer.accuracy(images, labels) <= 1


# ------------------------------------------------------------------------------------------------------------ figures


def test_times_are_those_of_all_batches_but_the_first(monkeypatch):
    clock = iter([0.0, *[t for k in range(4) for t in (10 * k, 10 * k + 5, 10 * k + 7, 10 * k + 10)], 40.0])
    monkeypatch.setattr(training.time, "perf_counter", lambda: next(clock))
    cpu = iter([0.0, 2.0, 11.0])
    monkeypatch.setattr(training.time, "process_time", lambda: next(cpu))
    batches = [(torch.zeros(8, 3, 4, 4), torch.zeros(8))] * 4
    epoch = training.train(training.Backend("decode", batches), 0)
    assert epoch.images_per_second == pytest.approx(3 * 8 / 30)
    assert (epoch.waiting, epoch.augmenting, epoch.stepping) == pytest.approx((0.5, 0.2, 0.3))
    assert epoch.loss is None
    assert epoch.on_core == pytest.approx(9 / 15)


def test_figures_compare_turns_with_turns_of_the_baseline():
    def backend(name, rates):
        return training.Backend(name, epochs=[training.Epoch(rate, 0.1, 0.2, 0.6, 1.0, 1.0, 0.5) for rate in rates])

    found = loop.rows([backend("augment", [50, 10, 40]), backend("none", [100, 40, 50])])
    assert found[0]["images_per_second"] == 40
    assert (found[0]["slowest"], found[0]["fastest"]) == (10, 50)
    assert found[0]["of_none"] == 0.5
    assert loop.rows([backend("augment", [50])])[0]["of_none"] is None


def test_a_run_that_others_disturbed_says_so():
    epochs = [training.Epoch(100, 0.1, 0.2, 0.6, on_core, 1.0, 0.5) for on_core in (0.5, 0.6, 1.0)]
    found = loop.rows([training.Backend("kornia", epochs=epochs), training.Backend("none", epochs=epochs[2:])])
    assert loop.disturbed(found, 1).endswith(": kornia 60%")
    assert loop.disturbed(found, 2) == loop.disturbed(found[1:], 1) == ""


def test_a_run_of_all(root, tmp_path, capsys):
    out, text = tmp_path / "out.json", tmp_path / "out.md"
    chosen = [name for name in LIBRARIES if importlib.util.find_spec(training.NEEDS.get(name, "torch"))]
    assert loop.main(settings(root, "--json", out, "--markdown", text, "--libraries", ",".join(chosen))) == 0
    found = json.loads(out.read_text())
    assert found["complete"]
    assert found["flags"]["batch"] == BATCH
    assert results.read(out, results.TRAINING) == found
    assert found["environment"]["threads"]["torch"] == 1
    assert [row["library"] for row in found["rows"]] == chosen
    for row in found["rows"]:
        assert row["error"] is None
        assert len(row["epochs"]) == 2
        for epoch in row["epochs"]:
            assert epoch["images_per_second"] > 0
            shares = [epoch[key] for key in ("waiting", "augmenting", "stepping")]
            assert all(0 <= share <= 1 for share in shares)
            assert 0.5 < sum(shares) <= 1
            assert row["library"] == "decode" or 0 <= epoch["accuracy"] <= 1
    printed = capsys.readouterr().out
    assert text.read_text() == printed
    assert printed.count("\n| ") == len(chosen) + 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "out.md"]
    assert loop.main(["--report", "--json", str(out)]) == 0
    assert capsys.readouterr().out == printed


def test_report_refuses_what_is_no_training_run(tmp_path, capsys):
    path = tmp_path / "out.json"
    path.write_text('{"version": 1}')
    with pytest.raises(SystemExit):
        loop.main(["--report", "--json", str(path)])
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "is not a results file" in error


def test_workers_seed_albumentations_differently(folder):
    pytest.importorskip("albumentations")
    photos = data.split(folder, "train", training.with_albumentations("classification", SIZE))
    photos.files, photos.labels = photos.files[:1] * 4, photos.labels[:1] * 4
    one, other = (images for images, _ in data.loader(photos, 2, 2))
    assert not torch.equal(one, other)


def test_a_library_that_fails_is_a_row(root, tmp_path, monkeypatch):
    transforms = training.transforms

    def broken(name, recipe, size):
        on_image, on_batch = transforms(name, recipe, size)
        return on_image, (lambda images: 1 / 0) if name == "augment" else on_batch

    monkeypatch.setattr(training, "transforms", broken)
    assert loop.main(settings(root, "--json", tmp_path / "out.json", "--libraries", "augment,none")) == 1
    one, other = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert one["error"] == "ZeroDivisionError: division by zero"
    assert one["error"] in loop.table([one])
    assert (one["epochs"], len(other["epochs"])) == ([], 2)


def test_a_library_that_cannot_be_set_up_is_a_row(folder, root, monkeypatch):
    monkeypatch.setattr(training, "transforms", lambda *args: (_ for _ in ()).throw(ImportError("no such\nlibrary")))
    backend = training.build("kornia", folder, loop.parse(settings(root)))
    assert backend.error == "ImportError: no such library"
    assert "ImportError: no such library" in loop.table(loop.rows([backend]))


def test_an_interrupted_run_keeps_what_is_done(root, tmp_path, monkeypatch, capsys):
    train = training.train

    def interrupted(backend, epoch):
        if epoch == 1:
            raise KeyboardInterrupt
        return train(backend, epoch)

    monkeypatch.setattr(loop, "train", interrupted)
    assert loop.main(settings(root, "--json", tmp_path / "out.json", "--libraries", "none,decode")) == 130
    found = json.loads((tmp_path / "out.json").read_text())
    assert not found["complete"]
    assert [len(row["epochs"]) for row in found["rows"]] == [1, 1]
    assert "| none | main |" in capsys.readouterr().out


def test_a_file_stays_as_it_was_if_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    results.write(path, "old")
    monkeypatch.setattr(results.os, "replace", lambda *args: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        results.write(path, "new")
    assert path.read_text() == "old\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


# ----------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (("--libraries", "augment,korna"), ("--libraries", "korna", *training.LIBRARIES)),
        (("--libraries", ","), ("--libraries", *training.LIBRARIES)),
        (("--recipe", "x"), ("--recipe", *training.RECIPES)),
        (("--epochs", "0"), ("--epochs", "from 1", "'0'")),
        (("--size", "big"), ("--size", "'big'")),
        (("--images", "5"), ("--images", "20")),
        (("--batch", "17"), ("--batch", "16", "17")),
        (("--json", "file/out.json"), ("--json", "file")),
        (("--json", "."), ("--json", "a file")),
        (("--markdown", "file/out.md"), ("--markdown", "file")),
        (("--report",), ("--report", "--json")),
        (("--data", "file"), ("--data", "file")),
    ],
)
def test_bad_flags_are_refused_in_one_line(flags, parts, root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setattr(loop, "write_data", lambda *args: pytest.fail("the work was begun"))
    with pytest.raises(SystemExit) as status:
        loop.main(settings(root, *flags))
    error = capsys.readouterr().err
    assert status.value.code == 2
    assert error.count("\n") == 1
    assert error.startswith("training_loop.py: ")
    assert all(part in error for part in parts)


def test_libraries_that_are_not_installed_are_skipped_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(loop.importlib.util, "find_spec", lambda name: None)
    assert loop.available(["augment", "kornia", "none"]) == ["augment", "none"]
    assert capsys.readouterr().err == "kornia: skipped, it is not installed\n"


def test_without_photographs_there_is_one_line(root, monkeypatch, capsys):
    monkeypatch.setattr(loop, "photographs", dict)
    with pytest.raises(SystemExit):
        loop.main(settings(root))
    assert capsys.readouterr().err.count("\n") == 1


def test_quick_leaves_other_flags_as_they_are(root):
    args = loop.parse(["--quick", "--epochs", "7", "--data", str(root)])
    assert (args.epochs, args.size) == (7, loop.QUICK["size"])
    assert loop.parse(["--data", str(root)]).size == loop.DEFAULTS["size"]


def test_too_many_workers_for_the_machine_are_told_of(root, capsys):
    loop.parse(["--workers", str(os.cpu_count()), "--data", str(root)])
    assert "cores" in capsys.readouterr().err


def test_the_compiler_s_cache_is_empty_and_put_back(monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "mine")
    with measure.empty_cache():
        folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
        assert not os.listdir(folder)
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "mine"
    assert not os.path.exists(folder)
