"""Crops for detection: what their constructors refuse."""

from typing import Any

import pytest

import augment as K


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: K.RandomIoUCrop(sampler_options=0.5), "sampler_options"),
    ],
)
def test_constructors_name_what_is_wrong(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name}: expected"):
        build()


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: K.RandomIoUCrop(min_scale=0.9, max_scale=0.5), "min_scale"),
        (lambda: K.RandomIoUCrop(max_scale=1.5), "max_scale"),
        (lambda: K.RandomIoUCrop(sampler_options=()), "sampler_options"),
        (lambda: K.RandomIoUCrop(trials=0), "trials"),
    ],
)
def test_constructors_refuse_by_name(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{name}"):
        build()
