"""Photographs are read whatever their mode and orientation."""

import pytest
from PIL import Image
from PIL.Image import Resampling, Transpose

from augment.gallery.photographs import HEIGHT, WIDTH, read
from tests.support.helpers import distance


def _halves(mode, left, right):
    picture = Image.new(mode, (400, 300), right)
    picture.paste(left, (0, 0, 200, 300))
    return picture


def _palette(**info):
    picture = _halves("RGB", (255, 0, 0), (0, 0, 255)).quantize(2)
    if "hide" in info:
        picture.info["transparency"] = picture.getpixel((10, 10))
    return picture


RED, BLUE, WHITE, DARK, LIGHT = (255, 0, 0), (0, 0, 255), (255,) * 3, (50,) * 3, (200,) * 3
KINDS = {
    "gray.png": (_halves("L", 50, 200), DARK, LIGHT),
    "gray_alpha.png": (_halves("LA", (50, 255), (200, 0)), DARK, WHITE),
    "rgba.png": (_halves("RGBA", (255, 0, 0, 255), (0, 0, 255, 0)), RED, WHITE),
    "half.png": (_halves("RGBA", (255, 0, 0, 128), (0, 0, 255, 255)), (255, 127, 127), BLUE),
    "palette.png": (_palette(), RED, BLUE),
    "palette_alpha.png": (_palette(hide=True), WHITE, BLUE),
    "palette.gif": (_palette(), RED, BLUE),
    "bits.png": (_halves("1", 0, 255), (0,) * 3, WHITE),
    "deep.png": (_halves("I;16", 50 * 257, 200 * 257), DARK, LIGHT),
    "deep.tif": (_halves("I;16", 50 * 257, 200 * 257), DARK, LIGHT),
    "integers.tif": (_halves("I", -70000, 70000), (0,) * 3, WHITE),
    "floats.tif": (_halves("F", -0.5, 2.5), (0,) * 3, WHITE),
    "cmyk.tif": (_halves("CMYK", (0, 255, 255, 0), (255, 255, 0, 0)), RED, BLUE),
}


@pytest.mark.parametrize("name", KINDS)
def test_images_of_every_mode(tmp_path, name):
    picture, left, right = KINDS[name]
    picture.save(tmp_path / name)
    image = read(tmp_path / name)
    assert (image.mode, image.size) == ("RGB", (WIDTH, HEIGHT))
    for x, expected in ((20, left), (WIDTH - 20, right)):
        assert all(abs(a - b) <= 2 for a, b in zip(image.getpixel((x, 100)), expected, strict=True))


def test_images_are_turned_upright(tmp_path):
    upright = _halves("RGB", RED, BLUE)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    upright.transpose(Transpose.ROTATE_90).save(tmp_path / "turned.jpg", exif=exif, quality=95)
    assert distance(read(tmp_path / "turned.jpg"), upright.resize((WIDTH, HEIGHT), Resampling.LANCZOS)) < 3


def test_images_keep_their_aspect_and_lose_their_ends(tmp_path):
    wide = Image.new("RGB", (800, 300), RED)
    wide.paste(BLUE, (200, 0, 600, 300))
    wide.save(tmp_path / "wide.png")
    assert read(tmp_path / "wide.png").crop((2, 0, WIDTH - 2, HEIGHT)).getcolors() == [((WIDTH - 4) * HEIGHT, BLUE)]
