"""Ops on whole channels."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..common.arguments import choice, number, one_a_channel, whole
from ..common.checks import check
from ..common.types import Flags, Params
from ..kernels.colour.illuminants import TABLES
from ..kinds.intensity import Intensity
from ..maps.recolours import Channels, Line
from ..sampling.draw import Draw
from ..sampling.params import Param
from ..sampling.ranges import Bounds, Range

INFINITY = float("inf")


class RandomChannelShuffle(Intensity):
    """Permute the channels.

    Shape:
        (B, C, H, W) to (B, C, H, W), any C.

    Params:
        channels: (B, C) int64, the channel of the input that comes to each place.
    """

    params = (Param("channels", (None,)),)

    def __init__(self, same_on_batch: bool = False, p: float | Tensor = 0.5, keepdim: bool = False) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)

    def sample(self, draw: Draw) -> Params:
        return {"channels": draw.uniform(draw.shape[1:2], 0, 1).argsort(1)}

    def validate(self, params: Params, gate: Tensor) -> None:
        source = params["channels"]
        check((source >= 0) & (source < source.shape[-1]), None, "channels: expected numbers of channels")

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Channels:
        return Channels(places(self, params, "channels", input.shape[1]))


class RandomChannelDropout(Intensity):
    """Fill some channels with a constant.

    Args:
        num_drop_channels: how many, at least 1 and at most those of the image.
        fill_value: what to fill with, in 0..1.

    Shape:
        (B, C, H, W) to (B, C, H, W), any C.

    Params:
        channel_idx: (B, num_drop_channels) int64. batch_idx: (B, 1) int64, the rows' own numbers, which are not read.

    Raises:
        ValueError: if the image has fewer channels.
    """

    params = (Param("batch_idx", (1,)), Param("channel_idx", (None,)))

    def __init__(
        self,
        num_drop_channels: int = 1,
        fill_value: float = 0.0,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.num_drop_channels = whole(num_drop_channels, "num_drop_channels", 1)
        self.fill_value = number(fill_value, "fill_value", 0, 1)

    def check_shape(self, shape: Sequence[int], flags: Flags) -> None:
        if shape[1] < self.num_drop_channels:
            raise ValueError(
                f"RandomChannelDropout: num_drop_channels: expected at most {shape[1]}, as many as the image has, "
                f"got {self.num_drop_channels}"
            )

    def sample(self, draw: Draw) -> Params:
        order = draw.uniform(draw.shape[1:2], 0, 1).argsort(1)
        return {
            "batch_idx": torch.arange(draw.shape[0], device=draw.device).unsqueeze(1),
            "channel_idx": order[:, : self.num_drop_channels],
        }

    def validate(self, params: Params, gate: Tensor) -> None:
        check(params["channel_idx"] >= 0, gate, "channel_idx: expected numbers of channels")

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Channels:
        chosen = params["channel_idx"]
        lost = (chosen.unsqueeze(2) == torch.arange(input.shape[1], device=chosen.device)).any(1)
        return Channels(lost=lost, value=self.fill_value)


class RandomRGBShift(Intensity):
    """Add a constant to each channel, and cut to [0, 1] before and after.

    Args:
        r_shift_limit: (low, high) of what red gains, or one number for -+ number.
        g_shift_limit: the same for green.
        b_shift_limit: the same for blue.

    Shape:
        (B, 3, H, W) to (B, 3, H, W).

    Params:
        r_shift, g_shift, b_shift: (B,).
    """

    channels = (3,)

    def __init__(
        self,
        r_shift_limit: Bounds = 0.5,
        g_shift_limit: Bounds = 0.5,
        b_shift_limit: Bounds = 0.5,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        self.ranges = {
            "r_shift": Range(r_shift_limit, "r_shift_limit", 0.0, (-INFINITY, INFINITY)),
            "g_shift": Range(g_shift_limit, "g_shift_limit", 0.0, (-INFINITY, INFINITY)),
            "b_shift": Range(b_shift_limit, "b_shift_limit", 0.0, (-INFINITY, INFINITY)),
        }

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Line:
        return Line(None, torch.stack([params[name] for name in self.ranges], 1), cut=True)


class RandomPlanckianJitter(Intensity):
    """Scale red and blue as another illuminant would, and cut to [0, 1] before and after.

    S. Zini et al., "Planckian jitter: countering the color-crippling effects of color jitter on self-supervised
    training", 2022.

    Args:
        mode: ``"blackbody"``, 25 temperatures from 3000 K to 15000 K, or ``"CIED"``, 23 daylights from 4000 K.
        select_from: numbers of the illuminants to choose from, or one of them; None for all. Negative ones count from
            the end.

    Shape:
        (B, 3, H, W) to (B, 3, H, W).

    Params:
        idx: (B,) int64, which of the illuminants to choose from.
    """

    channels = (3,)
    columns = 1
    params = (Param("idx"),)
    pl: Tensor

    def __init__(
        self,
        mode: str = "blackbody",
        select_from: int | list[int] | None = None,
        same_on_batch: bool = False,
        p: float | Tensor = 0.5,
        keepdim: bool = False,
    ) -> None:
        super().__init__(p=p, same_on_batch=same_on_batch, keepdim=keepdim)
        table = TABLES[choice(mode, "mode", tuple(TABLES))]
        chosen = range(len(table)) if select_from is None else select_from
        chosen = list(chosen) if isinstance(chosen, (Sequence, range)) else [chosen]
        known = [isinstance(i, int) and not isinstance(i, bool) and -len(table) <= i < len(table) for i in chosen]
        if not known or not all(known):
            raise ValueError(f"select_from: expected numbers in {-len(table)}..{len(table) - 1}, got {select_from!r}")
        self.mode, self.select_from = mode, select_from
        ratios = [[red / green, 1.0, blue / green] for red, green, blue in (table[i] for i in chosen)]
        self.register_buffer("pl", torch.tensor(ratios), persistent=False)

    def sample(self, draw: Draw) -> Params:
        return {"idx": (draw.u[:, 0] * len(self.pl)).long()}

    def validate(self, params: Params, gate: Tensor) -> None:
        inside = (params["idx"] >= 0) & (params["idx"] < len(self.pl))
        check(inside, None, f"idx: expected numbers in 0..{len(self.pl) - 1}")

    def recolour(self, input: Tensor, params: Params, flags: Flags) -> Line:
        return Line(self.pl.to(input.device)[params["idx"].long()], cut=True)


def check_channels(op: Intensity, shape: Sequence[int], flags: Flags, *names: str) -> None:
    """Require of flags that they hold one number, or one a channel of an image (B, C, H, W)."""
    for name in names:
        one_a_channel(flags[name], shape[1], f"{type(op).__name__}: {name}")


def of_one_length(*given: list[float]) -> list[list[float]]:
    """Lists of one number, or of one a channel, as lists of one length."""
    longest = max(map(len, given))
    return [values * (longest // len(values)) for values in given]


def places(op: Intensity, params: Params, name: str, count: int) -> Tensor:
    """The channel of the input that comes to each of C places (B, C)."""
    source = params[name]
    if source.shape[1] != count:
        raise ValueError(
            f"{type(op).__name__}: params[{name!r}]: expected a number for each of {count} channels, "
            f"got shape {tuple(source.shape)}"
        )
    return source
