"""The command line: the picture of ``preview``, the table of ``list``, what ``info`` says, and what goes wrong."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from PIL import Image, ImageChops, ImageDraw, ImageOps
from PIL.Image import Transpose

import augment
from augment import __main__ as command_line
from augment import gallery
from augment.__main__ import first_sentence, info, main, markdown, table
from augment.gallery import photographs, preview
from augment.gallery.photographs import ANYWHERE, CARRIED, HEIGHT, WIDTH, batch, read
from augment.kernels import ready
from augment.testing import cases, mixes, ops
from tests.support.helpers import distance

CELL = (WIDTH // 2, HEIGHT // 2)
GEOMETRIC = [case for case in preview.choose(None) if case.geometric]


@pytest.fixture
def photo(tmp_path):
    """A colourful picture in which no row, no column and no channel is like another."""
    path = tmp_path / "in" / "photo.png"
    path.parent.mkdir()
    ramp = Image.linear_gradient("L").resize((400, 300))
    planes = (ramp, ramp.transpose(Transpose.ROTATE_90).resize((400, 300)), ImageOps.solarize(ramp))
    picture = Image.merge("RGB", planes)
    ImageDraw.Draw(picture).ellipse((40, 30, 160, 120), fill="white", outline="navy", width=9)
    picture.save(path)
    return path


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "picture.png"


@pytest.fixture
def no_work(monkeypatch):
    """Fail when an op is run."""
    monkeypatch.setattr(preview, "augmented", lambda *args: pytest.fail("the work was begun"))


def run(*args):
    return main(["preview", *map(str, args)])


def panel(picture, column, rows, row=0, band=0):
    x, y = preview.place(column, band, rows, row)
    return picture.crop((x, y, x + CELL[0], y + CELL[1]))


def refused(capsys, status, *parts):
    """Require exit status 2 and one line on stderr that holds these parts."""
    error = capsys.readouterr().err
    assert status == 2, error
    assert error.count("\n") == 1 and error.endswith("\n"), error
    assert error.startswith("augment: ")
    for part in parts:
        assert str(part) in error


# -------------------------------------------------------------------------------------------------------- the picture


def test_all_ops_on_the_photographs_of_scikit_image(out, capsys):
    assert run("--out", out) == 0
    rows, names = len(CARRIED), list(ops())
    bands = -(-len(names) // preview.COLUMNS)
    across = -(-len(names) // bands)
    with Image.open(out) as picture:
        picture.load()
    left, top = preview.place(across, bands - 1, rows, rows - 1)
    assert picture.size == (left + CELL[0] + preview.MARGIN, top + CELL[1] + preview.MARGIN)
    assert f"{picture.width} x {picture.height}" in capsys.readouterr().out
    for i, name in enumerate(names):
        band, column = i // across, i % across + 1
        x, y = preview.place(column, band, rows)
        label = picture.crop((x, y - preview.HEAD, x + CELL[0], y)).convert("L")
        assert label.getextrema()[0] < 60, f"{name} has no label"
        changes = []  # of which some may be none: a photograph may have all the contrast there is
        for row in range(rows):
            before, after = (panel(picture, k, rows, row, band) for k in (0, column))
            changes.append(distance(before, after))
        assert max(changes) > 1.5, f"{name} does nothing that can be seen on any photograph"
    for band in range(bands):
        assert distance(panel(picture, 0, rows, 0, 0), panel(picture, 0, rows, 0, band)) == 0


def test_an_op_that_does_nothing_changes_nothing(photo, out, monkeypatch):
    monkeypatch.setitem(preview.ARGUMENTS, "RandomBrightness", {"brightness": (1.0, 1.0)})
    assert run(photo, "--ops", "RandomBrightness", "--out", out) == 0
    picture = Image.open(out)
    assert panel(picture, 0, 1).tobytes() == panel(picture, 1, 1).tobytes()


def test_a_flipped_photograph_is_drawn_as_the_mirrored_one(photo, out):
    assert run(photo, "--ops", "RandomHorizontalFlip", "RandomVerticalFlip", "--out", out) == 0
    picture = Image.open(out)
    before, sideways, upside_down = (panel(picture, i, 1) for i in range(3))
    for after, mirrored in ((sideways, ImageOps.mirror(before)), (upside_down, ImageOps.flip(before))):
        assert distance(after, mirrored) < 1.5  # all but the smoothing of lines, labels included
        assert distance(after, before) > 20


def test_what_is_drawn_is_the_photograph_with_its_labels(photo, out, monkeypatch):
    monkeypatch.setitem(preview.ARGUMENTS, "RandomBrightness", {"brightness": (1.0, 1.0)})
    assert run(photo, "--ops", "RandomBrightness", "--out", out) == 0
    cell = panel(Image.open(out), 0, 1)
    changed = ImageChops.difference(cell, read(photo).reduce(2)).convert("L").point(lambda v: 255 * (v > 12))

    def pixel(x, y):
        return (min(round(x * CELL[0]), CELL[0] - 1), min(round(y * CELL[1]), CELL[1] - 1))

    for x, y in ANYWHERE.points:
        assert changed.getpixel(pixel(x, y))
    for x1, y1, x2, y2 in ANYWHERE.boxes:
        assert all(changed.getpixel(pixel(x1 + 0.006, y1 + k * (y2 - y1) / 9)) for k in range(1, 9))
        assert all(changed.getpixel(pixel(x1 + k * (x2 - x1) / 9, y2 - 0.01)) for k in range(1, 9))
    x1, y1, x2, y2 = ANYWHERE.mask
    assert changed.getpixel(pixel(x1 + 0.03, (y1 + y2) / 2)) and changed.getpixel(pixel((x1 + x2) / 2, y2 - 0.03))
    assert not changed.getpixel(pixel(0.03, 0.5)) and not changed.getpixel(pixel(0.72, 0.6))


@pytest.mark.parametrize("case", GEOMETRIC, ids=repr)
def test_labels_follow_what_they_mark(case):
    sample = batch([(Image.new("RGB", (WIDTH, HEIGHT)), ANYWHERE)] * 3)
    image = sample.image.clone()
    y, x = torch.arange(HEIGHT).view(-1, 1), torch.arange(WIDTH)
    for px, py in sample.points[0].tolist():
        image[:, 0][:, (x - px) ** 2 + (y - py) ** 2 <= 64] = 255
    image[:, 1] = sample.mask[:, 0] * 255
    x1, y1, x2, y2 = sample.boxes[0, 0].round().int().tolist()
    image[:, 2, y1:y2, x1:x2] = 255
    after = preview.augmented(case, sample._replace(image=image), 0)
    discs, ellipse, region = (after.image > 127).unbind(1)
    h, w = after.image.shape[-2:]
    seen = 0
    for row in range(3):
        for px, py in after.points[row].round().int().tolist():
            if 2 <= px < w - 2 and 2 <= py < h - 2:
                assert discs[row, py, px]
                seen += 1
        both, either = ((f(ellipse[row], after.mask[row, 0] > 0)).sum() for f in (torch.logical_and, torch.logical_or))
        assert both >= 0.95 * either
        rows, columns = (region[row].any(dim).nonzero().flatten() for dim in (1, 0))
        found = torch.stack([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
        box = torch.minimum(after.boxes[row, 0].clamp(min=0), torch.tensor([w, h, w, h]))
        torch.testing.assert_close(found.float(), box, atol=3, rtol=0)
    assert seen >= 3


def test_an_output_of_another_size_is_fitted_into_its_cell(photo, out):
    assert run(photo, "--ops", "CenterCrop", "Resize", "--out", out) == 0
    picture = Image.open(out)
    for column, aspect in ((1, 1.0), (2, 2 / 3)):
        cell = panel(picture, column, 1)
        side = round((CELL[0] - aspect * CELL[1]) / 2)
        strips = (cell.crop((0, 0, side - 2, CELL[1])), cell.crop((CELL[0] - side + 2, 0, CELL[0], CELL[1])))
        assert all(strip.getcolors() == [(strip.width * strip.height, (0xEA, 0xEE, 0xF2))] for strip in strips)
        assert len(cell.crop((side + 2, 0, CELL[0] - side - 2, CELL[1])).getcolors(10**6)) > 500


def test_values_outside_of_0_and_1_are_scaled_into_it(photo):
    sample = batch([(read(photo), ANYWHERE)])
    bare = sample._replace(mask=sample.mask * 0, boxes=sample.boxes * 0, points=sample.points - 1000)
    normalised = preview.augmented(preview.choose(["Normalize"])[0], bare, 0)
    assert normalised.image.min() < -0.5 and normalised.image.max() > 1.5
    ramp = torch.linspace(-1, 3, WIDTH).expand_as(normalised.image)
    (cell,) = preview.thumbnails(bare._replace(image=ramp))
    for i in range(0, CELL[0], 25):
        assert abs(cell.getpixel((i, 60))[0] - 255 * i / CELL[0]) < 3


def test_points_are_drawn_in_their_place():
    (cell,) = preview.thumbnails(batch([(Image.new("RGB", (WIDTH, HEIGHT)), ANYWHERE)]))
    for (x, y), colour in zip(ANYWHERE.points, preview.POINTS, strict=True):
        seen = ImageChops.difference(cell, Image.new("RGB", CELL, colour)).convert("L").point(lambda v: 255 * (v < 3))
        left, top, right, bottom = seen.getbbox()
        assert abs((left + right) / 2 - x * CELL[0]) <= 0.5 and abs((top + bottom) / 2 - y * CELL[1]) <= 0.5


def test_the_seed_decides(photo, out):
    pictures = []
    for seed in ("0", "0", "1", "-1"):
        torch.rand(3)
        assert run(photo, "--ops", "RandomAffine", "RandomGaussianNoise", "--out", out, "--seed", seed) == 0
        pictures.append(out.read_bytes())
    assert pictures[0] == pictures[1]
    assert len(set(pictures)) == 3


def test_an_op_is_drawn_alike_alone_and_among_others(photo, out):
    assert run(photo, "--ops", "RandomAffine", "RandomRotation", "--out", out) == 0
    together = panel(Image.open(out), 2, 1)
    assert run(photo, "--ops", "RandomRotation", "--out", out) == 0
    assert panel(Image.open(out), 1, 1).tobytes() == together.tobytes()


def test_other_formats_by_extension(photo, tmp_path):
    for suffix, file_format in (("jpg", "JPEG"), ("WEBP", "WEBP")):
        out = tmp_path / f"picture.{suffix}"
        assert run(photo, "--ops", "RandomGrayscale", "--out", out) == 0
        assert Image.open(out).format == file_format


def test_the_global_random_state_is_left_alone(photo, out):
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    assert run(photo, "--ops", "RandomAffine", "RandomGaussianNoise", "--out", out) == 0
    assert torch.equal(torch.rand(4), expected)


def test_as_a_command(photo, tmp_path):
    command = [sys.executable, "-m", "augment", "preview", str(photo), "--ops", "RandomErasing"]
    environment = {**os.environ, "PYTHONPATH": str(Path(augment.__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "RandomErasing" in done.stderr  # the bar
    assert done.stdout.startswith("preview.png: ")
    with Image.open(tmp_path / "preview.png") as picture:
        assert f"{picture.width} x {picture.height}" in done.stdout


# --------------------------------------------------------------------------------------------------------- the images


def test_a_folder_gives_its_files_by_name(tmp_path, capsys):
    colours = ["red", "lime", "blue"]
    for i in (2, 0, 1):
        Image.new("RGB", (40, 30), colours[i]).save(tmp_path / f"{i}.png")
    (tmp_path / ".hidden").write_text("no image")
    for _ in range(2):  # the second time around, the picture lies in the folder
        assert run(tmp_path, "--ops", "RandomGrayscale", "--out", tmp_path / "picture.png") == 0
        assert "photographs: 3\n" in capsys.readouterr().out
    picture = Image.open(tmp_path / "picture.png")
    corners = [panel(picture, 0, 3, row).getpixel((3, 60)) for row in range(3)]
    assert corners == [(255, 0, 0), (0, 255, 0), (0, 0, 255)]


def test_of_many_images_the_first_are_shown(photo, out, capsys):
    images = [photo] * (photographs.MOST + 2)
    assert run(*images, "--ops", "RandomGrayscale", "--out", out) == 0
    assert f"photographs: {photographs.MOST} of {len(images)}" in capsys.readouterr().out
    assert Image.open(out).height == preview.place(0, 1, photographs.MOST)[1] - preview.HEAD + 8
    (out.parent / "last.png").write_text("no image")
    assert run(*images, out.parent / "last.png", "--ops", "RandomGrayscale", "--out", out) == 1
    assert "last.png" in capsys.readouterr().err


# --------------------------------------------------------------------------------------------------------- the errors


def _bad(folder):
    """Make files and paths that are no image, by what is said of them."""
    Image.radial_gradient("L").save(folder / "whole.png")
    whole = (folder / "whole.png").read_bytes()
    contents = {"text.png": b"some text", "empty.jpg": b"", "cut.png": whole[: len(whole) // 2], "notes.txt": b"hello"}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "empty").mkdir()
    (folder / "whole.png").unlink()
    return {
        **{folder / name: "not an image" for name in contents},
        folder / "missing.png": "no such file or folder",
        folder / "empty": "no files in this folder",
        Path("/dev/null"): "not a file",
    }


def test_what_is_no_image_is_named_and_the_others_go_on(photo, out, tmp_path, capsys):
    bad = _bad(tmp_path)
    assert run(*bad, photo, "--ops", "RandomErasing", "--out", out) == 1
    lines = capsys.readouterr().err.splitlines()
    for path, reason in bad.items():
        (line,) = [line for line in lines if str(path) + ":" in line]
        assert reason in line and line.startswith("augment: ")
    others = out.read_bytes()
    assert run(photo, "--ops", "RandomErasing", "--out", out) == 0
    assert out.read_bytes() == others


def test_no_image_at_all(out, tmp_path, capsys, no_work):
    bad = _bad(tmp_path)
    refused(capsys, run(*bad, "--out", out), "no image to show", *bad)
    assert not list(out.parent.iterdir())


@pytest.mark.parametrize(
    "names, parts",
    [
        (["RandomHorizontlFlip"], ["'RandomHorizontlFlip' is not an op", "RandomHorizontalFlip"]),
        (["randomrotation"], ["RandomRotation"]),
        (["Blur"], ["RandomGaussianBlur"]),
        (["Resize", "qqqq"], ["'qqqq'", "python -m augment list"]),
        (["Resize", "in/photo.png"], ["images go before --ops"]),
    ],
)
def test_an_op_that_does_not_exist(photo, out, capsys, no_work, monkeypatch, names, parts):
    monkeypatch.chdir(photo.parents[1])
    refused(capsys, run(photo, "--out", out, "--ops", *names), *parts)
    assert not list(out.parent.iterdir())


@pytest.mark.parametrize("name", ["none/picture.png", "picture", "picture.xyz", "picture.xbm", "folder.png", ""])
def test_a_picture_that_cannot_be_written(photo, out, capsys, no_work, name):
    (out.parent / "folder.png").mkdir()
    target = out.parent / name if name else ""
    refused(capsys, run(photo, "--out", target), f"--out {target}")
    assert [path.name for path in out.parent.iterdir()] == ["folder.png"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder in which nobody can write")
def test_a_folder_that_cannot_be_written_to(photo, capsys, no_work):
    refused(capsys, run(photo, "--out", "/proc/picture.png"), "--out /proc/picture.png")


def test_a_file_that_must_not_be_written_over(photo, out, capsys, no_work, monkeypatch):
    before = photo.read_bytes()
    refused(capsys, run(photo, "--out", photo), "is one of the images")
    out.write_text("precious")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != out)
    refused(capsys, run(photo, "--out", out), "cannot be written over")
    assert photo.read_bytes() == before and out.read_text() == "precious"


@pytest.mark.parametrize("error, status", [(KeyboardInterrupt, 130), (OSError(28, "No space left on device"), 2)])
@pytest.mark.parametrize("step", ["save", "replace"])
def test_an_interrupted_picture_leaves_nothing(photo, out, capsys, monkeypatch, error, status, step):
    out.write_text("the picture of before")

    def fail(*args, **kwargs):
        raise error

    if step == "replace":
        monkeypatch.setattr(os, "replace", fail)
    else:
        monkeypatch.setattr(Path, "write_bytes", lambda path, data: (path.write_text("half"), fail()))
    assert run(photo, "--ops", "RandomGrayscale", "--out", out) == status
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    assert out.read_text() == "the picture of before"
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("module, package", [("PIL", "pillow"), ("tqdm", "tqdm"), ("skimage", "scikit-image")])
def test_a_package_that_is_missing(out, capsys, monkeypatch, no_work, module, package):
    for name in ("preview", "photographs"):
        monkeypatch.delitem(sys.modules, f"augment.gallery.{name}")
        monkeypatch.delattr(gallery, name)
    monkeypatch.setitem(sys.modules, module, None)
    refused(capsys, run("--out", out), package, 'pip install ".[demo]"')
    assert not out.exists()
    assert main(["list"]) == 0


def test_scikit_image_is_not_needed_for_photographs_of_ones_own(photo, out, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    assert run(photo, "--ops", "RandomGrayscale", "--out", out) == 0


@pytest.mark.parametrize(
    "args", [[], ["paint"], ["preview", "--seed", "x"], ["preview", "--ops"], ["list", "--html"], ["info", "x"]]
)
def test_usage(args, capsys):
    with pytest.raises(SystemExit) as left:
        main(args)
    assert left.value.code == 2
    assert "usage: python -m augment" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------------ the list


def test_list_names_every_op(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["Op", "Kind", "Constructor"]
    assert all(len(line) <= 110 and line == line.rstrip() for line in lines)
    named = [line.split()[:2] for line in lines[2:] if not line.startswith(" ")]
    kinds = [[case.name, "geometric" if case.geometric else "intensity"] for case in cases(variants=False)]
    assert named == kinds + [[case.name, "mix"] for case in mixes()]


def test_list_in_markdown(capsys):
    assert main(["list", "--markdown"]) == 0
    head, rule, *lines = capsys.readouterr().out.splitlines()
    assert head == "| Op | Kind | Constructor | What it does |"
    assert rule == "| --- | --- | --- | --- |"
    assert [line.split(" | ")[0] for line in lines] == [
        f"| {name}" for name in [*ops(), *(case.name for case in mixes())]
    ]
    assert "| RandomHorizontalFlip | geometric | `RandomHorizontalFlip(p=0.5, p_batch=1.0, same_on_batch=False, " in (
        "\n".join(lines)
    )
    assert "ratio=(0.75, 1.3333)" in "\n".join(lines)


def test_the_table_says_something_of_every_op():
    for name, _, call, text in table():
        assert call.startswith(f"{name}(") and call.endswith(")") and " object at " not in call
        assert text.endswith(".") and text[0].isupper() and "``" not in text


def test_first_sentence():
    assert first_sentence("Do this. And that.\n\nArgs:\n    x: y.") == "Do this."
    assert first_sentence("Fill (Z. Zhong et al.,\n    2020). More.") == "Fill (Z. Zhong et al., 2020)."
    assert first_sentence("No stop\n\nMore.") == "No stop"
    assert first_sentence("") == ""


def test_a_bar_in_a_cell_does_not_end_it():
    assert markdown([("A", "b", "A(x='|')", "C.")]).endswith("| A | b | `A(x='\\|')` | C. |")


# ------------------------------------------------------------------------------------------------------------ the info


def test_version(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"augment {augment.__version__}\n"


def test_info_says_what_is_there(capsys):
    assert main(["info"]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = {name: line[len(name) :].strip() for name, line in zip(info(), lines, strict=True)}
    assert all(line.startswith(name) for name, line in zip(info(), lines, strict=True))
    assert said == info() and all(said.values())
    assert said["augment"] == f"{augment.__version__} in {Path(augment.__file__).parent}"
    assert said["torch"] == torch.__version__ and said["python"] == platform.python_version()
    assert said["threads"] == f"{torch.get_num_threads()} of PyTorch on {os.cpu_count()} processors"
    assert (said["kernels in C"] != "not built") == ready()
    assert said["devices"].startswith("cpu")


def test_info_without_kernels_and_torchvision(monkeypatch):
    monkeypatch.setattr(command_line, "library", None)
    assert info()["kernels in C"] == "not built"
    assert command_line.version("no-such-package") == "not installed"


def test_info_names_sets_and_devices(monkeypatch):
    class Built:
        sets = staticmethod(lambda: ["base", "avx2"])

    monkeypatch.setattr(command_line, "library", Built)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda i: f"Card {i}")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert info()["kernels in C"] == "for base, avx2; in use: avx2"
    assert info()["devices"] == "cpu, cuda:0 Card 0, cuda:1 Card 1, mps"
