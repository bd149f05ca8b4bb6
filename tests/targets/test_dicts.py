"""Samples that are dicts: which keys have to be there."""

from typing import Any

import pytest
import torch

import augment as K
from tests.support.choices import values


@pytest.mark.parametrize("make", [K.AugmentationSequential, K.ImageSequential, K.OneOf, K.PatchSequential])
def test_a_dict_has_the_keys_that_were_asked_for(make: Any) -> None:
    image, mask, *_ = values()
    grid = {"patchwise_apply": False} if make is K.PatchSequential else {}

    def container(**options: Any) -> K.AugmentationSequential:
        return make(K.RandomInvert(p=1.0), **grid, **options)

    asked = container(data_keys=["image", "mask"])
    assert set(asked({"image": image, "mask_left": mask, "more": 1})) == {"image", "mask_left", "more"}
    for lacking, names in (
        ({"image": image, "masks": mask}, "'image', 'masks'"),
        ({"mask_names": ["a"]}, "mask_names"),
    ):
        with pytest.raises(ValueError, match=rf"data_keys: expected entries for .* for '(mask|image)'; got .*{names}"):
            asked(lacking)
    with pytest.raises(ValueError, match="too few for 'image'"):
        container(data_keys=["image", "image"])({"image": image, "mask": mask})
    with pytest.raises(ValueError, match="too few for 'keypoints'"):
        container()({"image": image, "mask": mask}, data_keys=["input", "keypoints"])
    assert set(asked({"mask": mask}, data_keys=["mask"])) == {"mask"}
    for free in (container(), container(data_keys=None)):
        assert set(free({"mask": mask})) == {"mask"} and set(free({"image": image})) == {"image"}
    asked({"image": image, "mask": mask})
    assert torch.equal(asked.inverse({"mask": mask})["mask"], mask)  # the image need not be led back
    with pytest.raises(ValueError, match="too few for 'image'"):
        asked.inverse({"mask": mask}, data_keys=["image", "mask"])
