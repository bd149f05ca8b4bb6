"""What all kernels in C for geometry have to hold."""

import pytest
import torch

import augment as K
from augment.kernels import built
from augment.kernels.field import c as field_c
from augment.kernels.warp import c as warp_c
from augment.kernels.warp import maths as resample
from augment.kinds.augmentation import Augmentation
from tests.support.kernel_images import needs_kernels
from tests.support.warps import MATRICES, PADDINGS, laid_out, noise


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e30])
@pytest.mark.parametrize("padding", PADDINGS)
def test_places_that_are_none(instructions: str, padding: str, value: float) -> None:
    image, field, code = noise(3, 9, 8), torch.full((2, 9, 8), value), resample.PADDINGS[padding]
    out = torch.empty_like(image)
    matrix = [[1.0, 0.0, value], [0.3, 1.0, value], [value, 0.0, 1.0]]
    assert field_c.displace(image, field, code, [7.0], out)
    assert code or (out == 7).all()
    assert warp_c.warp(image, matrix, True, (0, 0), code, [7.0], out)
    assert warp_c.resample_axes(image, (1.0, value, 0, 9), (value, 0.0, 0, 8), code, [7.0], out)


@needs_kernels
def test_instructions_agree() -> None:
    image, field = noise(3, 61, 83), torch.randn((2, 61, 83), generator=torch.Generator().manual_seed(5)) * 9
    found = []
    for name in built.library.sets():
        built.library.use(name)
        outs = [torch.empty_like(image) for _ in range(4)]
        assert warp_c.resample_axes(image, (0.7, 3.3, 0, 61), (1.4, -9.9, 0, 83), 0, [9.4], outs[0])
        assert warp_c.warp(image, MATRICES["projective"], True, (0, 0), 2, [], outs[1])
        assert warp_c.warp(image, MATRICES["turn"], False, (2, 1), 0, [9.4], outs[2])
        assert field_c.displace(image, field, 1, [], outs[3])
        found.append(outs)
    assert all(torch.equal(one, other) for outs in found for one, other in zip(outs, found[0], strict=True))


@needs_kernels
def test_what_is_not_done() -> None:
    image, axis = noise(3, 5, 5), (1.0, 0.5, 0, 5)
    out = torch.empty_like(image)
    assert not warp_c.resample_axes(image.float(), axis, axis, 0, [0.0], out)
    assert not warp_c.resample_axes(image, axis, axis, 0, [256.0], out)
    assert not warp_c.rearrange(laid_out(image, "gaps")[None], [-1], [True], out[None])
    assert not warp_c.rearrange(laid_out(image, "last")[None], [-1], [True], out[None])


OPS = [
    K.Resize((50, 71)),
    K.Resize((50, 71), align_corners=False),
    K.RandomResizedCrop((30, 41), p=1.0),
    K.RandomAffine(0, translate=(0.1, 0.2), p=1.0),
    K.RandomAffine(0, scale=(0.8, 1.3), padding_mode="fill", fill_value=(0.0, 0.5, 1.0), p=1.0),
    K.RandomAffine(0, scale=(0.8, 1.3), padding_mode="border", p=1.0),
    K.RandomAffine(0, scale=(0.8, 1.3), padding_mode="reflection", p=1.0),
    K.RandomAffine(40, padding_mode="fill", fill_value=0.5, p=1.0),
    K.RandomPerspective(0.5, p=1.0),
    K.RandomElasticTransform((5, 5), padding_mode="border", p=1.0),
    K.RandomThinPlateSpline(p=1.0),
]


@needs_kernels
@pytest.mark.parametrize("op", OPS, ids=str)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_ops_agree_with_what_has_no_kernel(
    op: Augmentation, layout: torch.memory_format, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = noise(3, 3, 60, 60, seed=3).contiguous(memory_format=layout)
    found = op(image)
    monkeypatch.setattr(built, "library", None)
    expected = op(image, params=op._params)
    assert found.is_contiguous() and expected.is_contiguous()
    assert (found.int() - expected).abs().max() <= 1
