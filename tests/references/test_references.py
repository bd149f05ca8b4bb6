"""Every op computes what its name says: against the independent references."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import augment as K
from augment.testing import VARIANTS as TABLE
from augment.testing import Case, cases, ops
from tests.references import REFERENCES
from tests.references.common import Array, picture

# variants that the references know as well
VARIANTS = [name for name in TABLE if "antialias" not in name]
# arguments that tell the axes apart
AXES = [
    Case(
        "RandomAffine[axes]", K.RandomAffine, {"degrees": 20.0, "scale": (0.6, 0.9, 1.1, 1.5), "shear": (-9, 9, 5, 20)}
    ),
    Case("RandomCrop[sides]", K.RandomCrop, {"size": (15, 20), "padding": (1, 2, 3, 4), "padding_mode": "circular"}),
    Case(
        "RandomElastic[axes]",
        K.RandomElasticTransform,
        {"kernel_size": (7, 5), "sigma": (2.0, 1.0), "alpha": (2.0, 1.0)},
    ),
    Case(
        "RandomGaussianBlur[axes]",
        K.RandomGaussianBlur,
        {"kernel_size": (3, 7), "sigma": (0.5, 3.0), "border_type": "constant"},
    ),
    Case("RandomResizedCrop[edges]", K.RandomResizedCrop, {"size": (19, 25), "align_corners": False}),
    Case("Resize[edges]", K.Resize, {"size": (29, 12), "align_corners": False}),
]
CASES = [case for case in cases() if case.name in (*ops(), *VARIANTS)] + AXES
SEEDS = range(3)
DOUBLE = 1e-12


# Known failures, each with its reason.
def tolerance(case: Case) -> float:
    """Give how far float32 may be off.

    Arithmetic on values up to 3 costs a few steps of 2e-7. Sampling works with coordinates up to 23, of which float32
    resolves 2e-6; a matrix inverse and a product cost several such steps, and noise changes by up to 1 a pixel.
    """
    return 2e-5 if case.geometric else 2e-6


def reference(case: Case, op: Any, image: Array) -> Array:
    """Compute the last call of an op on an image in [0, 1]."""
    params = {name: value.numpy() for name, value in op._params.items()}
    return REFERENCES[case.op.__name__](op, image.astype(float), params)


@pytest.mark.parametrize("name", ops())
def test_every_op_has_a_reference(name: str) -> None:
    assert name in REFERENCES, f"{name}: write its reference in the file of its family in tests/references"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_float32_is_the_reference(case: Case, seed: int) -> None:
    image = picture(seed, 3, 17, 23).astype(np.float32)
    op = case(p=1.0)
    torch.manual_seed(seed)
    output = op(torch.from_numpy(image))
    expected = torch.from_numpy(reference(case, op, image).copy()).float()
    assert_close(output, expected, atol=tolerance(case), rtol=0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_float64_is_the_reference_to_its_last_digits(case: Case, seed: int) -> None:
    image = picture(seed, 3, 17, 23)
    op = case(p=1.0)
    torch.manual_seed(seed)
    drawn = op.forward_parameters(image.shape)
    params = {name: value.double() if value.is_floating_point() else value for name, value in drawn.items()}
    output = op(torch.from_numpy(image), params=params)
    assert_close(output, torch.from_numpy(reference(case, op, image).copy()), atol=DOUBLE, rtol=0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_uint8_is_the_rounded_reference(case: Case, seed: int) -> None:
    image = (picture(seed, 3, 17, 23) * 255).astype(np.uint8)
    op = case(p=1.0)
    torch.manual_seed(seed)
    output = op(torch.from_numpy(image))
    expected = torch.from_numpy(reference(case, op, image / 255).copy())
    if output.dtype == torch.uint8:
        # A level is right where it lies within half a level of the exact value; at a tie, to within the error of
        # float32, both of its neighbours are.
        half = 0.5 + 255 * tolerance(case)
        assert_close(output.double(), (expected * 255).clamp(0, 255), atol=half, rtol=0)
    else:
        assert_close(output, expected.float(), atol=tolerance(case), rtol=0)


def test_equalize_of_many_pixels_is_that_of_the_pil() -> None:
    for seed in SEEDS:  # steps of more than one pixel, which the small pictures above have not
        image = (picture(seed, 2, 61, 83) * 255).astype(np.uint8) // 3 * 2
        expected = np.rint(REFERENCES["RandomEqualize"](None, image / 255, {}) * 255).astype(np.uint8)
        assert torch.equal(K.RandomEqualize(p=1.0)(torch.from_numpy(image)), torch.from_numpy(expected))
