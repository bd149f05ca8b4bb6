"""Ops of users are equal to ours: the same values, the same kernels, the same runs, and no more in the graph."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import augment as K
from tests.contract.nodes import nodes
from tests.support.helpers import Log, call_seeded, picture


class Solarize(K.IntensityAugmentationBase2D):
    """What ``RandomSolarize`` does, by a user."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.ranges = {
            "thresholds": K.Range(0.1, "thresholds", 0.5, (0, 1)),
            "additions": K.Range(0.1, "additions", 0.0, (-0.5, 0.5)),
        }

    def recolour(self, input: Tensor, params: Any, flags: Any) -> K.Recolour:
        threshold, addition = (params[name].view(-1, 1, 1, 1) for name in self.ranges)

        def curve(values: Tensor) -> Tensor:
            lifted = values.clamp(0, 1).add_(addition).clamp_(0, 1)
            return torch.where(lifted < threshold, lifted, 1 - lifted)

        return K.Curve(curve)


class Contrast(K.IntensityAugmentationBase2D):
    """What ``RandomContrast`` does, by a user."""

    params = (K.Param("contrast_factor", neutral=1.0),)

    def __init__(self, p: float = 1.0) -> None:
        super().__init__(p=p)
        self.ranges = {"contrast_factor": K.Range((0.5, 1.5), "contrast", 1.0, (0, float("inf")))}

    def recolour(self, input: Tensor, params: Any, flags: Any) -> K.Recolour:
        return K.Line(params["contrast_factor"], cut=True)


class Saturation(K.IntensityAugmentationBase2D):
    """What ``RandomSaturation`` does, by a user."""

    params = (K.Param("saturation_factor", neutral=1.0),)

    def __init__(self, p: float = 1.0) -> None:
        super().__init__(p=p)
        self.ranges = {"saturation_factor": K.Range((0.5, 1.5), "saturation", 1.0, (0, float("inf")))}

    def recolour(self, input: Tensor, params: Any, flags: Any) -> K.Recolour:
        return K.Steps((1.0, 1.0, params["saturation_factor"], 0.0), (2,), "jiggle")


class Flip(K.GeometricAugmentationBase2D):
    """What ``RandomHorizontalFlip`` does, by a user."""

    whole_pixels = True
    looks_beyond = False

    def warp(self, input: Tensor, params: Any, flags: Any) -> K.Warp:
        back = [[-1.0, 0.0, input.shape[-1] - 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        matrix = torch.tensor(back, device=input.device).repeat(len(input), 1, 1)
        return K.Permutation(matrix, (input.shape[-2], input.shape[-1]))


PAIRS: dict[str, tuple[Callable[..., nn.Module], Callable[..., nn.Module]]] = {
    "curve": (Solarize, K.RandomSolarize),
    "line": (Contrast, lambda p: K.RandomContrast((0.5, 1.5), p=p)),
    "steps": (Saturation, lambda p: K.RandomSaturation((0.5, 1.5), p=p)),
    "flip": (Flip, K.RandomHorizontalFlip),
}


def kernels_of(log: Log) -> dict[str, int]:
    """Which kernels were called, and how often."""
    return {name: count for name, count in log.large.items() if name.startswith("augment.")}


each = pytest.mark.parametrize("name", PAIRS)
dtypes = pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])


@dtypes
@each
def test_values_and_kernels_are_those_of_ours(name: str, dtype: torch.dtype) -> None:
    image = picture(8, dtype=dtype)
    found = []
    for make in PAIRS[name]:
        op = make(p=0.5)
        with Log() as log:
            found.append((call_seeded(op, image), kernels_of(log)))
    assert torch.equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


@dtypes
def test_runs_are_those_of_ours(dtype: torch.dtype) -> None:
    image = picture(8, dtype=dtype)
    found = []
    for which in (0, 1):
        ops = [PAIRS[name][which](p=0.5) for name in ("steps", "line", "curve", "flip")]
        ends = K.RandomVerticalFlip(), K.RandomRotation(20.0)
        container = K.AugmentationSequential(K.RandomHue((-0.2, 0.2)), *ops, *ends, fuse=True)
        with Log() as log:
            found.append((call_seeded(container, image), kernels_of(log)))
        assert repr(container).count("as one") == 2
    assert torch.equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


@pytest.mark.parametrize("name", ["curve", "line", "steps"])
def test_graphs_are_those_of_ours(name: str) -> None:
    image = picture(4, dtype=torch.uint8)
    counts = [nodes(make(p=0.5), image) for make in PAIRS[name]]
    assert counts[0] == counts[1]


class Negative(K.RandomBrightness):
    """A class below one of ours that computes the image itself, as in kornia."""

    def apply_transform(self, input: Tensor, params: Any, flags: Any, transform: Any = None) -> Tensor:
        return 1 - input


class Doubled(K.RandomBrightness):
    """A class below one of ours that says another recolouring."""

    def recolour(self, input: Tensor, params: Any, flags: Any) -> K.Recolour:
        return super().recolour(input, params, flags).then(K.Line(0.5))


def test_the_lowest_class_says_what_is_done() -> None:
    image = picture(2)
    assert_close(Negative()(image), 1 - image)
    assert_close(Doubled((1.2, 1.2))(image), (image + 0.2).clamp(max=1) / 2)
    assert_close(
        K.RandomBrightness((1.2, 1.2)).apply_transform(
            image, {"brightness_factor": torch.full((2,), 1.2)}, {"clip_output": True}
        ),
        (image + 0.2).clamp(max=1),
    )


def test_a_warp_that_is_no_homography_is_in_no_run() -> None:
    """An op that does not say that its warp bends lines is done by itself all the same."""

    class Bent(K.GeometricAugmentationBase2D):
        def warp(self, input: Tensor, params: Any, flags: Any) -> K.Warp:
            field = torch.ones(len(input), 2, *input.shape[-2:])
            return K.Field(field, (input.shape[-2], input.shape[-1]))

    image = picture(2)
    fused, plain = (K.AugmentationSequential(Bent(p=1.0), K.RandomHorizontalFlip(p=1.0), fuse=f) for f in (True, False))
    assert torch.equal(fused(image), plain(image))
    assert torch.equal(fused.inverse(fused(image)), plain.inverse(plain(image)))
