"""Fractals against closed forms, and the ops that are made of them."""

from itertools import product

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import augment as K
from augment import kernels as native
from augment.kernels.light import maths as plasma
from tests.support.helpers import picture

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
