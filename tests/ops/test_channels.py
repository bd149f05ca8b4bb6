"""Channels that are moved, dropped, shifted or lit otherwise."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

import augment as K
from tests.support.helpers import picture
from tests.support.known import replay


def test_channels_are_moved_and_filled_whole() -> None:
    image = torch.arange(4.0).view(1, 4, 1, 1).expand(2, 4, 2, 2)
    output = replay(K.RandomChannelShuffle(p=1.0), image, channels=[3, 0, 0, 2])
    assert output[:, :, 0, 0].tolist() == [[3, 0, 0, 2]] * 2
    filled = replay(K.RandomChannelDropout(2, 0.5, p=1.0), image, channel_idx=[1, 3])
    assert filled[:, :, 0, 0].tolist() == [[0, 0.5, 2, 0.5]] * 2
    assert K.RandomChannelDropout(4, 1.0, p=1.0)(image.byte()).eq(255).all()


def test_daylight_of_a_white_point_changes_little() -> None:
    image = picture()
    output = K.RandomPlanckianJitter("CIED", select_from=5, p=1.0)(image)  # 6500 K, the white of sRGB
    assert_close(output, image, atol=4e-3, rtol=0)
    warm, cold = (K.RandomPlanckianJitter(select_from=i, p=1.0)(image).mean((0, 2, 3)) for i in (0, -1))
    assert warm[0] > cold[0] and warm[2] < cold[2] and warm[1] == cold[1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: K.RandomChannelDropout(0), "num_drop_channels"),
        (lambda: K.RandomChannelDropout(1.5), "num_drop_channels"),
        (lambda: K.RandomChannelDropout(fill_value=2.0), "fill_value"),
        (lambda: K.RandomRGBShift(-0.1), "r_shift_limit"),
        (lambda: K.RandomPlanckianJitter("sunset"), "mode"),
        (lambda: K.RandomPlanckianJitter(select_from=25), "select_from"),
    ],
)
def test_bad_arguments_are_named(build: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"{message}: expected"):
        build()


def test_more_channels_than_there_are_cannot_be_dropped() -> None:
    for call in (lambda op: op(picture(2, 2)), lambda op: op.forward_parameters((2, 2, 8, 8))):
        with pytest.raises(ValueError, match="num_drop_channels: expected at most 2"):
            call(K.RandomChannelDropout(3))


def test_parameters_of_other_channels_are_refused() -> None:
    for op in (K.RandomChannelShuffle(p=1.0), K.RandomPhotometricDistort()):
        params = op.forward_parameters((2, 3, 8, 8))
        with pytest.raises(ValueError, match="channel"):
            op(picture(2, 1), params=params)
    twice = {**params, "channel_permutation": torch.zeros(2, 3, dtype=torch.long)}
    with pytest.raises(RuntimeError, match="channel_permutation: expected each channel once"):
        op(picture(2), params=twice)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: K.RandomPlanckianJitter(select_from=2.5), "select_from"),
        (lambda: K.RandomPlanckianJitter(select_from=True), "select_from"),
    ],
)
def test_constructors_name_what_is_wrong(build: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{name}: expected"):
        build()
