"""Policies against torchvision, op by op, and what they read of kornia's."""

import inspect
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.policies import OPERATIONS, table
from augment.policies.table import Magnitudes
from tests.support.helpers import picture
from tests.support.policies import SPACES, fixed, level_of

THEIRS = {
    "Identity": "identity",
    "AutoContrast": "auto_contrast",
    **{f"{kind}{axis}": f"{kind.lower()}_{axis.lower()}" for kind in ("Shear", "Translate") for axis in "XY"},
    **{name: name.lower() for name in ("Rotate", "Posterize", "Solarize", "Equalize", "Invert")},
    **{name: name.lower() for name in ("Brightness", "Color", "Contrast", "Sharpness")},
}
OURS = {ours: theirs for theirs, ours in THEIRS.items()}


@pytest.fixture
def theirs() -> Any:
    return pytest.importorskip("torchvision.transforms.v2")


@pytest.mark.parametrize("name", SPACES)
def test_magnitudes_are_those_of_torchvision(name: str, theirs: Any) -> None:
    spaces = {"AugMix": [10], "AutoAugment": [10]}
    expected = getattr(theirs, name)._AUGMENTATION_SPACE
    assert {THEIRS[key] for key in expected} == set(SPACES[name]) - ({"identity"} if name == "AutoAugment" else set())
    for bins in spaces.get(name, [5, 11, 31]):
        magnitudes = Magnitudes(list(SPACES[name].items()), bins)
        for size in [(h, 331 * h % 700 + 1) for h in range(1, 1000, 37)] + [(331, 662), (224, 224), (27, 54)]:
            for i, (key, entry) in enumerate(SPACES[name].items()):
                levels, signed = expected.get(OURS[key], (lambda *_: None, False))
                assert signed == entry.signed
                want = levels(bins, *size)
                want = torch.zeros(bins) if want is None else want.float()
                want = want.trunc() if key.startswith("translate") else want  # as theirs does when it shifts
                _, got = magnitudes(torch.full((bins,), i), torch.arange(bins), torch.full((bins,), 0.9), size)
                assert_close(got, want, atol=1e-6, rtol=1e-6)
                _, got = magnitudes(torch.full((bins,), i), torch.arange(bins), torch.full((bins,), 0.1), size)
                assert_close(got, -want if signed else want, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", table.SUB_POLICIES)
def test_sub_policies_are_those_of_torchvision(name: str, theirs: Any) -> None:
    expected = theirs.AutoAugment(theirs.AutoAugmentPolicy(name))._policies
    found = [[(OURS[op], p, level) for op, p, level in steps] for steps in table.SUB_POLICIES[name]]
    assert found == [list(pair) for pair in expected]
    assert table.read_sub_policies(theirs.AutoAugmentPolicy(name)) is table.SUB_POLICIES[name]


def apply_theirs(theirs: Any, image: Tensor, name: str, magnitude: float, mode: str = "nearest") -> Tensor:
    policy = theirs.RandAugment()
    return policy._apply_image_or_video_transform(
        image, OURS[name], magnitude, interpolation=theirs.InterpolationMode(mode), fill={torch.Tensor: None}
    )


def near_halves(name: str, magnitude: float, height: int, width: int) -> Tensor:
    """Say which pixels of the output come from so near between two that rounding errors choose."""
    y, x = torch.meshgrid(torch.arange(height).double(), torch.arange(width).double(), indexing="ij")
    cx, cy = (width - 1) / 2, (height - 1) / 2
    cos, sin = math.cos(math.radians(magnitude)), math.sin(math.radians(magnitude))
    at = {
        "shear_x": (x + magnitude * (y + 0.5), y),
        "shear_y": (x, y + magnitude * (x + 0.5)),
        "rotate": (cx + cos * (x - cx) - sin * (y - cy), cy + sin * (x - cx) + cos * (y - cy)),
    }[name]
    return torch.stack([(p - p.floor() - 0.5).abs() < 1e-3 for p in at]).any(0)


# torchvision cuts the decimals of bytes off where we round, and those of the luma and of the smoothed image before
LEVELS_APART = {"brightness": 1, "auto_contrast": 1, "color": 2, "contrast": 2, "sharpness": 2}


@pytest.mark.parametrize("name", table.AUTO)
@pytest.mark.parametrize("i", [0, 3, 9, 17, 30])
def test_operations_are_those_of_torchvision(name: str, i: int, theirs: Any) -> None:
    image = picture(1, size=(37, 50), dtype=torch.uint8) // 2 + 20
    for space in (table.AUTO, table.WIDE):
        if name not in space:
            continue
        magnitude = level_of(name, space, 31, i, (37, 50))
        for signed in (magnitude, -magnitude) if space[name].signed else (magnitude,):
            op, params = fixed(name, signed)
            got, expected = op(image, params=params), apply_theirs(theirs, image, name, signed)
            if name in ("shear_x", "shear_y", "rotate"):
                clear = ~near_halves(name, signed, 37, 50)
                assert clear.float().mean() > 0.9
                assert torch.equal(got[..., clear], expected[..., clear])
            else:
                assert_close(got.int(), expected.int(), atol=LEVELS_APART.get(name, 0), rtol=0)


@pytest.mark.parametrize("name", sorted(set(table.AUTO) - {"posterize"}))  # ours keeps the levels that bytes would have
def test_operations_on_floats_are_those_of_torchvision(name: str, theirs: Any) -> None:
    image = (picture(1, size=(37, 50), dtype=torch.uint8) // 2 + 20).float() / 255
    magnitude = level_of(name, table.RAND | table.AUTO, 31, 9, (37, 50))
    op, params = fixed(name, magnitude, interpolation="bilinear")
    expected = apply_theirs(theirs, image, name, magnitude, "bilinear")
    # they weigh red by 0.2989, we by 0.299
    assert_close(op(image, params=params), expected, atol=1e-4 if name not in ("color", "contrast") else 2e-4, rtol=0)


def test_posterize_keeps_the_levels_of_bytes() -> None:
    image = picture(1, dtype=torch.uint8)
    for bits in range(1, 9):
        op, params = fixed("posterize", float(bits))
        assert torch.equal(op(image, params=params), image & (256 - 2 ** (8 - bits)))
        assert_close(op(image.float() / 255, params=params), op(image, params=params).float() / 255)


def test_mixture_is_that_of_torchvision(theirs: Any) -> None:
    image = picture(1, size=(37, 50), dtype=torch.uint8)
    chains = [[("posterize", 3.0), ("shear_x", 0.1)], [("solarize", 0.6), ("equalize", 0.0)]]
    share = torch.tensor([[0.25, 0.35, 0.4]])
    params = {
        "share": share,
        "operation": torch.tensor([[[OPERATIONS.index(name) for name, _ in chain] for chain in chains]]),
        "magnitude": torch.tensor([[[magnitude for _, magnitude in chain] for chain in chains]]),
    }
    expected = image.float() * 0.25
    for weight, chain in zip((0.35, 0.4), chains, strict=True):
        work = image
        for name, magnitude in chain:
            work = apply_theirs(theirs, work, name, magnitude, "bilinear")
        expected += work.float() * weight
    output = K.AugMix(mixture_width=2, chain_depth=2)(image, params=params)
    assert_close(output.float(), expected, atol=0.5 + 0.36, rtol=0)  # our rounding, and a level in one chain


def test_policies_of_kornia_are_read() -> None:
    auto = pytest.importorskip("kornia.augmentation.auto")
    from kornia.augmentation.auto.rand_augment.rand_augment import default_policy as ranges
    from kornia.augmentation.auto.trivial_augment.trivial_augment import default_policy as trivial

    entries = dict(table.read_space(ranges))
    for name in ("rotate", "shear_x", "color", "contrast", "brightness", "sharpness", "posterize", "solarize"):
        assert entries[name][:2] == pytest.approx(table.RAND[name][:2])
        assert entries[name][2:] == table.RAND[name][2:]
    image = picture(4)
    for op in (K.RandAugment(2, 9, ranges), K.TrivialAugment(trivial), K.AutoAugment([[("shear_x", 0.5, 3)]])):
        assert op(image).shape == image.shape
    for name in ("RandAugment", "AutoAugment", "TrivialAugment"):
        known, expected = (list(inspect.signature(getattr(home, name)).parameters) for home in (K, auto))
        assert known[: len(expected)] == expected
    assert K.auto.RandAugment is K.RandAugment
