"""The plan of ``fuse=True`` is made once, and anew when what it hangs on changes."""

from typing import Any

import pytest
import torch

import augment as K
from augment.containers import fuse
from tests.support.helpers import call_seeded, picture


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what is planned."""
    made: list[int] = []
    planned = fuse._lengths

    def counted(*args: Any) -> list[int]:
        made.append(1)
        return planned(*args)

    monkeypatch.setattr(fuse, "_lengths", counted)
    return made


def test_a_plan_is_made_once(plans: list[int]) -> None:
    pipeline = K.AugmentationSequential(K.RandomAffine(20.0), K.RandomRotation(20.0), K.RandomInvert(), fuse=True)
    assert len(plans) == 1
    for _ in range(3):
        pipeline(picture())
        pipeline.inverse(picture())
    assert len(plans) == 1


def test_a_plan_is_made_anew_when_flags_change(plans: list[int]) -> None:
    pipeline = K.AugmentationSequential(K.RandomAffine(20.0), K.RandomRotation(20.0), fuse=True)
    assert repr(pipeline).count("as one") == 1
    pipeline[1].flags["padding_mode"] = "border"  # no longer alike
    assert repr(pipeline).count("as one") == 0
    torch.testing.assert_close(
        call_seeded(pipeline, picture()),
        call_seeded(K.AugmentationSequential(K.RandomAffine(20.0), pipeline[1]), picture()),
    )
    made = len(plans)
    pipeline[1].flags["padding_mode"] = "zeros"
    pipeline(picture())
    pipeline(picture())
    assert len(plans) == made + 1
    assert repr(pipeline).count("as one") == 1


def test_plans_of_containers_inside_are_made_for_the_options_around(plans: list[int]) -> None:
    inner = K.AugmentationSequential(K.RandomAffine(20.0), K.RandomRotation(20.0), fuse=True)
    outer = K.AugmentationSequential(inner, K.RandomInvert(), extra_args={"image": {"resample": "nearest"}})
    made = len(plans)
    outer(picture())
    outer(picture())
    assert len(plans) == made


def test_a_plan_knows_which_ops_stand_where() -> None:
    pipeline = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), K.RandomVerticalFlip(p=1.0), fuse=True)
    image = picture()
    assert torch.equal(pipeline(image), image.flip(-1, -2))
    pipeline[1] = K.RandomInvert(p=1.0)
    torch.testing.assert_close(pipeline(image), 1 - image.flip(-1))


def test_flags_that_are_tensors() -> None:
    class Scaled(K.IntensityAugmentationBase2D):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.flags = {"amount": torch.tensor([0.5, 0.5])}

        def apply_transform(self, input: Any, params: Any, flags: Any, transform: Any = None) -> Any:
            return input * flags["amount"].sum()

    pipeline = K.AugmentationSequential(Scaled(p=1.0), K.RandomHorizontalFlip(p=1.0), fuse=True)
    pipeline(picture())
    pipeline[0].flags["amount"] = torch.tensor([1.0, 1.0])
    torch.testing.assert_close(pipeline(picture()), 2 * picture().flip(-1))
