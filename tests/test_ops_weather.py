"""Weather and light: fractals, gradients and drops against closed forms, and what is refused."""

from itertools import product

import numpy as np
import pytest
import torch
from helpers import call_seeded, picture
from torch.testing import assert_close

import augment as K
from augment import kernels as native
from augment.kernels.light import maths as light
from augment.kernels.light import maths as plasma
from augment.kernels.weather import maths as weather

PLASMA = ("RandomPlasmaBrightness", "RandomPlasmaContrast", "RandomPlasmaShadow")
SIZES = ((1, 1), (1, 31), (2, 2), (3, 9), (17, 23), (40, 29), (33, 65))


def grown(values: list[float], roughness: float, h: int, w: int) -> np.ndarray:
    """Grow a fractal node by node, on a grid that reaches as far as nodes depend on each other.

    The random numbers are taken in the order of levels; in a level the middles of cells come first, then of their upper
    sides, then of their left sides.
    """
    supply = iter(values)
    sides = [2 ** int(np.ceil(np.log2(max(n, 3) - 1))) for n in (h, w)]
    step = min(sides)
    sizes = plasma.grid_sizes(h, w)
    nodes = {(y * step, x * step): next(supply) for y, x in product(*map(range, sizes[0]))}
    share = 0.0
    for rows, columns in sizes[:-1]:
        half = step // 2
        kinds = [(half, half, rows - 1, columns - 1), (0, half, rows, columns - 1), (half, 0, rows - 1, columns)]
        for oy, ox, m, n in kinds:
            reach = ((-half, -half), (-half, half), (half, -half), (half, half))
            if (oy, ox) != (half, half):
                reach = ((-half, 0), (half, 0), (0, -half), (0, half))
            for i, j in product(range(m), range(n)):
                y, x = i * step + oy, j * step + ox
                around = [nodes[y + dy, x + dx] for dy, dx in reach if (y + dy, x + dx) in nodes]
                noise = next(supply) if share else 0.0
                nodes[y, x] = (1 - share) * sum(around) / len(around) + share * noise
        step, share = half, (share or 1.0) * roughness
    assert next(supply, None) is None
    return np.array([[nodes[y, x] for x in range(w)] for y in range(h)])


@pytest.mark.parametrize("size", SIZES)
def test_fractal_is_grown_node_by_node(size: tuple[int, int]) -> None:
    noise = torch.rand(plasma.noise_size(*size), generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    expected = torch.from_numpy(grown(noise.tolist(), 0.6, *size))
    assert_close(plasma.diamond_square(noise, 0.6, *size), expected, atol=1e-14, rtol=0)
    weight = torch.tensor(0.6, dtype=torch.float64).view(1, 1)
    assert_close(plasma.diamond_square(noise, weight, *size), expected, atol=1e-14, rtol=0)


@pytest.mark.parametrize("size", SIZES)
def test_fractal_is_kornias(size: tuple[int, int]) -> None:
    """Kornia's numbers, drawn for whole grids, put where ours are taken from."""
    contrib = pytest.importorskip("kornia.contrib")
    drawn = []

    def draw(shape, **options):
        drawn.append(torch.rand(shape, generator=torch.Generator().manual_seed(len(drawn)), **options))
        return drawn[-1]

    roughness = torch.tensor([0.3, 0.7])
    expected = contrib.diamond_square((2, 1, *size), roughness, random_fn=draw)
    sizes = plasma.grid_sizes(*size)
    corners, *levels = (values[:, 0] for values in drawn)
    tall = np.subtract(*(np.ceil(np.log2(max(n, 3) - 1)) for n in size)) >= 0  # kornia lays the corners on their side
    parts = [(corners.mT if tall else corners)[:, : sizes[0][0], : sizes[0][1]]]
    for (rows, columns), values in zip(sizes[1:-1], levels, strict=False):
        for (y, x), (m, n) in zip(((1, 1), (0, 1), (1, 0)), plasma.refined_shapes((rows, columns)), strict=True):
            parts.append(values[:, y::2, x::2][:, :m, :n])
    noise = torch.cat([part.flatten(1) for part in parts], 1)
    output = plasma.diamond_square(noise, roughness.view(2, 1, 1), *size)
    assert_close(output, expected[:, 0], atol=1e-6, rtol=0)


def test_fractal_keeps_the_mean_and_the_range() -> None:
    noise = torch.rand(4000, plasma.noise_size(9, 9), generator=torch.Generator().manual_seed(0))
    maps = plasma.diamond_square(noise, 0.7, 9, 9)
    assert maps.min() >= 0 and maps.max() <= 1
    # the mean of a pixel's values strays from a half by at most 0.29 / sqrt(4000), of which five are allowed
    assert (maps.mean(0) - 0.5).abs().max() < 5 * 0.29 / 4000**0.5
    corner, middle, side = maps.var(0)[0, 0], maps.var(0)[4, 4], maps.var(0)[0, 4]
    third = corner / 3 * 4  # of a third of the sum of two corners and the middle, whose variance is a quarter of theirs
    assert_close(corner, torch.tensor(1 / 12), rtol=0.1, atol=0)
    assert_close(middle, corner / 4, rtol=0.1, atol=0)
    assert_close(side, third * (1.25**2 * 2 + 2 * 0.25**2) / 12, rtol=0.1, atol=0)


def test_share_of_noise_falls_by_the_roughness() -> None:
    """A number that is drawn at a level changes its own node by the roughness to the power of the level."""
    noise = torch.zeros(plasma.noise_size(17, 17))
    start, sizes = 4, plasma.grid_sizes(17, 17)
    for level, size in enumerate(sizes[1:-1], 1):
        moved = noise.clone()
        moved[start] = 1.0
        changed = plasma.diamond_square(moved, 0.5, 17, 17)
        step = 16 // 2 ** (level + 1)
        assert changed[step, step] == 0.5**level
        start += sum(rows * columns for rows, columns in plasma.refined_shapes(size))


def test_noise_of_a_fractal_is_no_more_than_it_needs() -> None:
    for h, w in ((256, 256), (260, 300), (224, 224)):
        assert plasma.noise_size(h, w) < 1.05 * h * w


def test_closed_rows_are_not_grown_and_roughness_learns() -> None:
    noise = torch.rand(3, 2, plasma.noise_size(9, 12))
    gate = torch.tensor([True, False, True])
    roughness = torch.tensor([0.3, 0.4, 0.5], requires_grad=True)
    output = native.plasma(noise, roughness, gate, 9, 12)
    expected = plasma.diamond_square(noise, roughness.view(3, 1, 1, 1), 9, 12)
    assert_close(output[gate], expected[gate])
    assert not output[1].any()
    weight = torch.rand_like(output)
    (gradient,) = torch.autograd.grad((output * weight).sum(), roughness)
    (wanted,) = torch.autograd.grad((expected * weight)[gate].sum(), roughness)
    assert_close(gradient, wanted)


@pytest.mark.parametrize("name", ["RandomPlasmaBrightness", "RandomPlasmaContrast", "RandomFog"])
def test_gradient_reaches_a_learned_range(name: str) -> None:
    key = "severity" if name == "RandomFog" else "roughness"
    bounds = torch.nn.Parameter(torch.tensor([1.0, 2.0] if name == "RandomFog" else [0.2, 0.6]))
    op = getattr(K, name)(**{key: bounds}, p=1.0)
    op(picture(3) * 0.5 + 0.2).square().sum().backward()
    assert bounds.grad is not None and bounds.grad.isfinite().all() and bounds.grad.abs().sum() > 0


@pytest.mark.parametrize("name", PLASMA)
def test_map_is_drawn_for_rows_and_channels(name: str) -> None:
    op = getattr(K, name)(p=1.0)
    maps = op.forward_parameters((3, 2, 40, 50))["plasma"].flatten(0, 1)
    assert all(not torch.equal(a, b) for i, a in enumerate(maps) for b in maps[:i])
    with pytest.raises(ValueError, match=rf"{name}: params\['plasma'\]: expected the image's size"):
        op(picture(3), params=op.forward_parameters((3, 3, 40, 50)))


def test_dark_and_bright_maps() -> None:
    image, op = picture(2), K.RandomPlasmaBrightness(intensity=(0.25, 0.25), p=1.0)
    params = op.forward_parameters(image.shape)
    for value, added in ((0.0, -0.25), (0.5, 0.0), (1.0, 0.25)):
        output = op(image, params={**params, "plasma": torch.full_like(image, value)})
        assert_close(output, (image + added).clamp(0, 1))


# ------------------------------------------------------------------------------------------------------------ gradients


def test_linear_light_rises_to_one_side() -> None:
    sides = light.linear_gradient(torch.full((4,), 0.5), torch.arange(4.0), 3, 5)[:, 0]
    down, right = torch.tensor([0.0, 0.25, 0.5]), torch.tensor([0.0, 0.125, 0.25, 0.375, 0.5])
    assert_close(sides[0], down.view(3, 1).expand(3, 5))
    assert_close(sides[1], down.flip(0).view(3, 1).expand(3, 5))
    assert_close(sides[2], right.expand(3, 5))
    assert_close(sides[3], right.flip(0).expand(3, 5))


def test_corner_light_rises_to_one_corner() -> None:
    corners = light.corner_gradient(torch.full((4,), -1.0), torch.arange(4.0), 3, 5)[:, 0]
    y, x = np.mgrid[:3, :5] / np.array([2, 4]).reshape(2, 1, 1)
    expected = [-(a + b) / 2 for a, b in ((y, x), (y, 1 - x), (1 - y, x), (1 - y, 1 - x))]
    assert_close(corners, torch.from_numpy(np.stack(expected)).float())
    line = light.corner_gradient(torch.ones(1), torch.zeros(1), 1, 5)
    assert_close(line.flatten(), torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0]))


def test_spot_of_light_is_a_gaussian() -> None:
    h, w, center, sigma = 12, 17, (0.3, 0.6), (0.2, 0.5)
    spot = light.gaussian_gradient(torch.tensor([0.4]), torch.tensor([center]), torch.tensor([sigma]), h, w)[0, 0]
    y, x = np.mgrid[:h, :w]
    bell = np.exp(
        -((x + 0.5 - center[0] * w) ** 2) / (2 * (sigma[0] * w) ** 2)
        - (y + 0.5 - center[1] * h) ** 2 / (2 * (sigma[1] * h) ** 2)
    )
    expected = 0.4 * (bell - bell.min()) / (bell.max() - bell.min())
    assert_close(spot, torch.from_numpy(expected).float(), atol=1e-6, rtol=0)
    point = light.gaussian_gradient(torch.ones(1), torch.tensor([center]), torch.zeros(1, 2), h, w)[0, 0]
    assert (
        point.isfinite().all() and point.sum() == 1 and point[7, 5] == 1
    )  # 0.6 * 12 - 0.5 = 6.7; 0.3 * 17 - 0.5 = 4.6


@pytest.mark.parametrize(
    "name", ["RandomLinearIllumination", "RandomLinearCornerIllumination", "RandomGaussianIllumination"]
)
def test_light_has_its_gain_its_sign_and_all_directions(name: str) -> None:
    op = getattr(K, name)(gain=(0.2, 0.6), p=1.0)
    gradient = op.forward_parameters((400, 1, 8, 9))["gradient"]
    peak = gradient.abs().flatten(1).amax(1)
    assert peak.min() >= 0.2 - 1e-6 and peak.max() <= 0.6 + 1e-6
    assert 140 < (gradient.flatten(1).sum(1) > 0).sum() < 260  # of 400, six standard deviations
    for sign in (1.0, -1.0):
        signed = getattr(K, name)(gain=0.3, sign=sign, p=1.0).forward_parameters((20, 1, 8, 9))["gradient"] * sign
        assert_close(signed.flatten(1).amax(1), torch.full((20,), 0.3))
        assert signed.min() >= -1e-6
    if name != "RandomGaussianIllumination":
        brightest = gradient.abs().flatten(1).argmax(1).unique()
        assert len(brightest) >= 3  # the ends of ramps


def test_light_is_the_same_on_all_channels_without_their_memory() -> None:
    for name in ("RandomLinearIllumination", "RandomLinearCornerIllumination", "RandomGaussianIllumination"):
        gradient = getattr(K, name)(p=1.0).forward_parameters((2, 5, 8, 9))["gradient"]
        assert gradient.shape == (2, 5, 8, 9) and gradient.stride(1) == 0


# -------------------------------------------------------------------------------------------------------------- weather


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
