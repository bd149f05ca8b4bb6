"""What policies draw, and how strong it is."""

from typing import Any

import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.testing import assert_close

import augment as K
from augment.policies import OPERATIONS, table
from augment.sampling.quantile import log_gamma_quantile
from tests.support.helpers import picture
from tests.support.policies import fixed, level_of


def even(counts: Tensor, expected: Tensor | None = None) -> bool:
    """Say whether counts look like the expected ones, or like one another."""
    want = torch.full_like(counts, counts.sum() / len(counts)) if expected is None else expected
    return stats.chisquare(counts.numpy(), want.numpy()).pvalue > 1e-4


def drawn(op: Any, n: int = 20000, size: tuple[int, int] = (100, 200)) -> dict[str, Tensor]:
    torch.manual_seed(0)
    return op.forward_parameters((n, 3, *size))


@pytest.mark.parametrize("op", [K.RandAugment(3), K.TrivialAugment(), K.TrivialAugmentWide()])
def test_every_operation_is_as_likely(op: Any) -> None:
    operation = drawn(op)["operation"]
    for step in operation.unbind(1):
        counts = step.bincount(minlength=len(OPERATIONS)).double()
        assert (counts > 0).sum() == 14 and even(counts[counts > 0])
    for first, second in zip(operation.unbind(1), operation.unbind(1)[1:], strict=False):  # and no step knows another
        pairs = (first * len(OPERATIONS) + second).bincount().double()
        assert (pairs > 0).sum() == 14 * 14 and even(pairs[pairs > 0])


def test_every_bin_is_as_likely() -> None:
    params = drawn(K.TrivialAugmentWide(), 60000)
    for name, low, high in (("solarize", 0.0, 1.0), ("rotate", -135.0, 135.0)):
        taken = params["magnitude"][params["operation"] == OPERATIONS.index(name)].double()
        bins = 31 if low == 0 else 61
        counts = ((taken - low) / (high - low) * (bins - 1)).round().long().bincount(minlength=bins).double()
        expected = torch.full((bins,), len(taken) / (31 if low == 0 else 62), dtype=torch.double)
        expected[bins // 2] *= 1 if low == 0 else 2  # zero has no sign
        assert even(counts, expected)


@pytest.mark.parametrize("op", [K.RandAugment(1, 15), K.AutoAugment("cifar10"), K.TrivialAugment()])
def test_signs_are_symmetric(op: Any) -> None:
    params = drawn(op)
    for name in ("rotate", "translate_x", "brightness", "color"):
        taken = params["magnitude"][(params["operation"] == OPERATIONS.index(name)) & (params["magnitude"] != 0)]
        assert len(taken) > 100 and even(torch.stack([(taken > 0).sum(), (taken < 0).sum()]).double())
    if isinstance(op, K.RandAugment):
        angles = params["magnitude"][params["operation"] == OPERATIONS.index("rotate")]
        assert angles.abs().unique().tolist() == [15.0] and len(angles.unique()) == 2


def test_sub_policies_are_as_likely_and_steps_have_their_probability() -> None:
    steps = [("rotate", 0.3, 5), ("invert", 1.0, None), ("equalize", 0.0, None)]
    op = K.AutoAugment([[steps[0], steps[1]], [steps[2], steps[1]], [("solarize", 1.0, 3)]])
    operation = drawn(op)["operation"]
    first, second = operation.unbind(1)
    rotated, solarized = (first == OPERATIONS.index("rotate")).sum(), (first == OPERATIONS.index("solarize")).sum()
    counts = torch.stack([rotated, solarized, (first == 0).sum()]).double()
    n = len(first)
    assert even(counts, torch.tensor([0.3 * n / 3, n / 3, n / 3 * 1.7], dtype=torch.double))
    assert torch.equal(second == 0, first == OPERATIONS.index("solarize"))  # and short ones end early
    shares = drawn(K.AutoAugment("imagenet"))["operation"].flatten().bincount(minlength=len(OPERATIONS)) / n
    wanted = torch.zeros(len(OPERATIONS))
    for pair in table.SUB_POLICIES["imagenet"]:
        for name, p, _ in pair:
            wanted[OPERATIONS.index(name)] += p / 25
    assert_close(shares[1:], wanted[1:], atol=5 * (0.25 / n) ** 0.5, rtol=0)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 5.0])
def test_chains_and_shares_of_mixtures(alpha: float) -> None:
    params = drawn(K.AugMix(alpha=alpha))
    share, length = params["share"].double(), (params["operation"] != 0).sum(2).flatten()
    assert even(length.bincount(minlength=4)[1:].double())
    assert even(
        params["operation"][:, :, 0]
        .flatten()
        .bincount(minlength=len(OPERATIONS))
        .double()[1:][torch.tensor([name in table.MIX for name in OPERATIONS[1:]])]
    )
    assert_close(share.sum(1), torch.ones_like(share[:, 0]), atol=1e-6, rtol=0)
    edges = torch.tensor([0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0], dtype=torch.double)
    total = share[:, 1:].sum(1)
    among = (share[:, 1] / total)[total > 0]  # the image may be all there is
    for taken, law in ((share[:, 0], stats.beta(alpha, alpha)), (among, stats.beta(alpha, 2 * alpha))):
        counts = (torch.bucketize(taken.clamp(1e-12, 1), edges) - 1).bincount(minlength=8).double()
        assert even(counts, torch.from_numpy(law.cdf(edges.numpy())).diff() * len(taken))
    magnitude = params["magnitude"][params["operation"] == OPERATIONS.index("posterize")]
    assert magnitude.unique().tolist() == [3, 4]  # of the weakest three bins of ten


def test_quantiles_of_the_gamma_distribution() -> None:
    u = torch.tensor([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
    for shape in (0.05, 0.4, 1.0, 3.0, 50.0):
        expected = torch.from_numpy(stats.gamma(shape).ppf(u.double().numpy())).log()
        got = log_gamma_quantile(u, shape)
        assert_close(got.double(), expected, atol=1e-5, rtol=1e-5)


# ------------------------------------------------------------------------------------------------------------- strength


@pytest.mark.parametrize("name", sorted(set(table.RAND) - {"identity", "auto_contrast", "equalize"}))
def test_strength_grows_with_m(name: str) -> None:
    x = torch.linspace(0.1, 0.9, 64).expand(1, 1, 64, 64)
    ramps = torch.cat([x, x.mT, (x + x.mT) / 2], 1) * 0.98 + 0.02 * picture(1, size=(64, 64))
    changes = []
    for m in range(0, 31, 3):
        magnitude = level_of(name, table.RAND, 31, m, (64, 64))
        op, params = fixed(name, magnitude, interpolation="bilinear")
        changes.append((op(ramps, params=params) - ramps).abs().mean().item())
    assert changes[-1] > 0.002
    assert all(after >= before - 1e-3 for before, after in zip(changes, changes[1:], strict=False))
    assert changes[0] < 0.003 and changes[1] <= 0.2 * changes[-1] + 0.003


def test_units() -> None:
    image = picture(2, size=(50, 100))
    op = K.RandAugment(1, 30, [("translate_x", -0.1, 0.1)])
    output = op(image)
    for row, before, shift in zip(output, image, op._params["magnitude"].flatten().int().tolist(), strict=True):
        assert abs(shift) == 10
        assert torch.equal(
            row,
            torch.cat([before.new_zeros(3, 50, 10), before[..., :-10]], -1)
            if shift > 0
            else torch.cat([before[..., 10:], before.new_zeros(3, 50, 10)], -1),
        )
    weak = K.RandAugment(1, 1, [("posterize", 4.0, 8.0)])
    assert_close(weak(image), image, atol=1 / 255, rtol=0)
    assert weak._params["magnitude"].unique().tolist() == [8.0]
    assert K.RandAugment(1, 30, [("posterize", 4, 8)])(image).unique().numel() <= 16
    turn = K.RandAugment(1, 15, [("rotate", -30.0, 30.0)])
    turn(image)
    assert turn._params["magnitude"].abs().unique().tolist() == [15.0]
