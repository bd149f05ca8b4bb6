"""Arguments of containers."""

from typing import Any

import pytest

import augment as K


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: K.AugmentationSequential(min_visibility=2.0), "min_visibility"),
    ],
)
def test_constructors_refuse_by_name(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{name}"):
        build()
