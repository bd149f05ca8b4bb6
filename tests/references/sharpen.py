"""Sharpness: what is expected, as in ``common.py`` and ``test_parity.py``."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageFilter
from scipy import ndimage

import augment as K
from tests.references.common import Array, Reference, per_row


def sharpness(op: Any, image: Array, params: Mapping[str, Array]) -> Array:
    kernel = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]]) / 13
    image = image.clip(0, 1)
    smooth = image.copy()
    smooth[..., 1:-1, 1:-1] = ndimage.correlate(image, kernel[None, None], mode="nearest")[..., 1:-1, 1:-1]
    f = per_row(params["sharpness"])
    return (image * f + smooth * (1 - f)).clip(0, 1)


def narrow_images_stay(kornia: Any) -> None:
    thin = torch.rand(2, 3, 2, 9)
    assert torch.equal(K.RandomSharpness(p=1.0)(thin), thin)
    levels = (thin[0] * 255).to(torch.uint8).permute(1, 2, 0).numpy()
    assert np.array_equal(np.asarray(Image.fromarray(levels).filter(ImageFilter.SMOOTH)), levels)
    with pytest.raises(ValueError):
        kornia.RandomSharpness(p=1.0)(thin)


REFERENCES: Mapping[str, Reference] = {
    "RandomSharpness": sharpness,
}
MORE: Mapping[str, list[dict[str, Any]]] = {
    "RandomSharpness": [{"sharpness": (0.0, 3.0)}, {"sharpness": 2.0}],
}
INTENDED: Mapping[str, tuple[Callable[[Any], None], str]] = {
    "RandomSharpness of thin images": (
        narrow_images_stay,
        "an image is all edge, which stays, as in the PIL and torchvision; kornia refuses it",
    ),
}
