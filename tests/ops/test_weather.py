"""Rain, snow and fog against closed forms, and what is refused."""

import pytest
import torch
from torch.testing import assert_close

import augment as K
from augment import kernels as native
from augment.kernels.weather import maths as weather
from tests.support.helpers import call_seeded, picture


def test_drops_are_lines_in_the_image() -> None:
    for height, width in ((1, 0), (1, 1), (5, 0), (5, 3), (5, -3), (3, 8), (3, -8), (12, 15), (12, -15)):
        op = K.RandomRain((1, 1), (height, height), (width, width), p=1.0)
        for seed in range(20):
            drop = call_seeded(op, torch.zeros(1, 1, 12, 15), seed=seed)[0, 0].nonzero()
            assert len(drop) == max(height, abs(width), 1)
            rows, columns = (drop.amax(0) - drop.amin(0) + 1).tolist()
            assert (rows, columns) == (height, max(abs(width), 1))
            first, last = drop[0, 1], drop[-1, 1]
            assert (first <= last if width >= 0 else first >= last) or height == 1


def test_every_place_of_a_drop_is_as_likely() -> None:
    op = K.RandomRain((1, 1), (3, 3), (-2, -2), p=1.0)
    tops = op(torch.zeros(6000, 1, 5, 4)).flatten(1).argmax(1)
    places = tops.bincount(minlength=20).view(5, 4)
    assert (places > 0).nonzero().tolist() == [[y, x] for y in range(3) for x in range(1, 4)]
    assert (places[places > 0] - 6000 / 9).abs().max() < 5 * (6000 / 9) ** 0.5


def test_both_ends_of_the_ranges_of_rain_are_drawn() -> None:
    params = K.RandomRain((2, 4), (1, 3), (-1, 1)).forward_parameters((600, 3, 8, 8))
    for key, values in (("number_of_drops", [2, 3, 4]), ("drop_height", [1, 2, 3]), ("drop_width", [-1, 0, 1])):
        drawn = params[f"{key}_factor"]
        assert drawn.unique().tolist() == values
        assert drawn.sub(values[0]).bincount().min() > 130  # of 200, six standard deviations


def test_rain_on_bytes() -> None:
    output = K.RandomRain((50, 50), (2, 5), p=1.0)(torch.zeros(2, 3, 30, 30, dtype=torch.uint8))
    assert output.unique().tolist() == [0, 200]


def test_rain_wets_the_pixels_of_its_drops() -> None:
    params = K.RandomRain((5, 40), (1, 9), (-9, 9), p=1.0).forward_parameters((4, 1, 20, 30))
    count, heights, widths, start = (
        params[f"{key}_factor"] for key in ("number_of_drops", "drop_height", "drop_width", "coordinates")
    )
    heights, widths = heights.unsqueeze(1), widths.unsqueeze(1)
    pixels = weather.drop_starts(start, heights, widths, 20, 30).unsqueeze(2)
    pixels = pixels + weather.drop_steps(heights, widths, 9, 30).unsqueeze(1)
    output = native.rain(torch.zeros(4, 1, 20, 30), count, heights.flatten(), widths.flatten(), start, 9)
    for row, places, n in zip(output, pixels, count, strict=True):
        assert row.flatten().nonzero().flatten().tolist() == places[:n].unique().tolist()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"number_of_drops": (-1, 3)}, "number_of_drops"),
        ({"number_of_drops": (2.5, 3)}, "number_of_drops"),
        ({"number_of_drops": 7}, "number_of_drops"),
        ({"drop_height": (0, 3)}, "drop_height"),
        ({"drop_height": (4, 3)}, "drop_height"),
        ({"drop_width": (0, float("nan"))}, "drop_width"),
    ],
)
def test_rain_refuses(arguments: dict, named: str) -> None:
    with pytest.raises(ValueError, match=f"{named}: expected whole numbers"):
        K.RandomRain(**arguments)


def test_rain_refuses_foreign_drops() -> None:
    op, image = K.RandomRain((2, 2), (2, 3), (-3, 3), p=1.0), torch.zeros(2, 1, 9, 9)
    params = op.forward_parameters(image.shape)
    for key, value in (("drop_height_factor", 9), ("drop_width_factor", -4), ("number_of_drops_factor", 3)):
        with pytest.raises(RuntimeError, match=f"{key}: expected"):
            op(image, params={**params, key: torch.full_like(params[key], value)})
    with pytest.raises(RuntimeError, match="coordinates_factor"):
        op(image, params={**params, "coordinates_factor": params["coordinates_factor"] + 2})


def test_snow_whitens_what_is_dark() -> None:
    values = torch.tensor([0.0, 0.1, 0.3, 0.4, 0.5, 0.8, 1.0])
    image = values.expand(1, 3, 1, 7)
    output = K.RandomSnow((0.5, 0.5), (3.0, 3.0), p=1.0)(image)
    assert_close(output[0, 1, 0], torch.tensor([0.0, 0.3, 0.9, 1.0, 0.5, 0.8, 1.0]))
    # lightness 0.2 and saturation 1, at lightness 0.6: 0.6 -+ 0.4
    red = torch.tensor([0.4, 0.0, 0.0]).view(1, 3, 1, 1)
    assert_close(K.RandomSnow(brightness=(3, 3))(red).flatten(), torch.tensor([1.0, 0.2, 0.2]))


def test_snow_needs_three_channels() -> None:
    for channels in (1, 4):
        with pytest.raises(ValueError, match=f"RandomSnow: input: expected 3 channels, got {channels}"):
            K.RandomSnow()(torch.rand(2, channels, 5, 5))


def test_snow_of_black_and_white_has_a_gradient() -> None:
    image = torch.tensor([0.0, 1.0, 0.3]).view(1, 1, 1, 3).repeat(2, 3, 1, 1).requires_grad_()
    K.RandomSnow((0.9, 0.9))(image).sum().backward()
    assert image.grad.isfinite().all()


def test_fog_of_imagenet_c() -> None:
    image = picture(5) * 0.8
    op = K.RandomFog((1.0, 5.0), p=1.0)
    params = op.forward_parameters(image.shape)
    params["severity"][:] = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    output = op(image, params=params)
    for row, before, fractal, amount in zip(output, image, params["plasma"], (1.5, 2.0, 2.5, 2.5, 3.0), strict=True):
        highest = before.max()
        expected = ((before + amount * fractal) * highest / (highest + amount)).clamp(0, 1)
        assert_close(row, expected)
    clear = op(image, params={**params, "severity": torch.zeros(5)})
    assert_close(clear, image)
    assert not op(torch.zeros_like(image), params=params).any()  # black has no light to scatter


def test_fractal_of_fog_fills_its_range() -> None:
    plasma = K.RandomFog(p=1.0).forward_parameters((6, 3, 30, 40))["plasma"]
    assert plasma.shape == (6, 1, 30, 40)
    assert_close(plasma.amin((1, 2, 3)), torch.zeros(6))
    assert_close(plasma.amax((1, 2, 3)), torch.ones(6))


def test_severe_fog_is_rougher() -> None:
    _, roughness = weather.fog_of_severity(torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 3.5]))
    decay = [2.0, 2.0, 1.7, 1.5, 1.4, 1.6]
    assert_close(roughness, torch.tensor([1 / d**2 for d in decay]))
