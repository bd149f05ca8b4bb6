"""What all kernels in C for geometry have to hold."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import augment as K
from augment import kernels as native
from augment.kernels import built
from augment.kernels.field import c as field_c
from augment.kernels.warp import c as warp_c
from augment.kernels.warp import maths as resample
from augment.kinds.augmentation import Augmentation
from tests.support.kernel_images import done, needs_kernels
from tests.support.opaque import LINES
from tests.support.warps import MATRICES, PADDINGS, in_parts, noise


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e30])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("size", [(9, 8), (1, 8), (9, 1)])
def test_places_that_are_none(instructions: str, size: tuple[int, int], padding: str, value: float) -> None:
    image, field, code = noise(3, *size), torch.full((2, *size), value), resample.PADDINGS[padding]
    out = done(field_c.displace, image, field, 0, code, [7.0])
    assert code or (out == 7).all()
    projective = torch.tensor([[1.0, 0.0, value], [0.3, 1.0, value], [value, 0.0, 1.0]])
    aligned = torch.tensor([[value, 0.0, 0.0], [0.0, 1.0, value], [0.0, 0.0, 1.0]])
    for matrix, filtered in ((projective, False), (projective, True), (aligned, False), (aligned, True)):
        done(warp_c.warp, image, matrix, *size, 0, code, [7.0], True, filtered)
        for border in ("constant", "reflect", "circular", "replicate", "symmetric"):
            done(warp_c.permute, image, matrix, *size, border, [7.0])


CALLS = {
    "axes": (warp_c.warp, [[1.4, 0, -9.9], [0, 0.7, 3.3]], False, False, [9.4]),
    "turn": (warp_c.warp, MATRICES["turn"][:2], False, False, [9.4]),
    "edge": (warp_c.warp, MATRICES["far"][:2], False, False, []),
    "filtered": (warp_c.warp, [[1.9, -0.83, 10.2], [1.43, 2.9, -7.7]], False, True, [9.4]),
    "projective": (warp_c.warp, MATRICES["projective"][:2], True, False, [0.0]),
}


def calls(image: Tensor) -> Iterator[tuple[Any, ...]]:
    """Give backends and what they take beside a batch, with the size that comes out."""
    (b, _, h, w), generator = image.shape, torch.Generator().manual_seed(5)
    shift = torch.tensor([[0.0, 0, 1], [0, 0, 3], [0, 0, 0]]) * torch.arange(b).view(b, 1, 1)
    for name, (backend, rows, projective, filtered, fill) in CALLS.items():
        matrix = torch.tensor([*rows, MATRICES["projective"][2] if projective else [0, 0, 1]]) + shift
        for padding in range(3):
            yield backend, (h + 70, w), matrix, h + 70, w, 0, padding, fill, projective, filtered
        yield backend, (h, w), matrix, h, w, 0, name == "edge", fill, projective, filtered
    for scale in (9, 90):
        yield field_c.displace, (h, w), torch.randn(b, 2, h, w, generator=generator) * scale, 0, scale % 2, [9.4]
        yield field_c.displace, (h, w), torch.randn(b, 2, h, w, generator=generator) - scale, 0, 2, []
    lines = torch.stack([LINES[1], LINES[2]])[torch.arange(b) % 2]
    yield field_c.displace_lines, (h, w), lines, 0, 0, [3.7]
    turned = torch.tensor([[0.0, 1, 2], [-1, 0, h - 5], [0, 0, 1]]) + shift
    for border in ("constant", "reflect"):
        yield warp_c.permute, (w, h), turned, w, h, border, [7.0]
        yield warp_c.permute, (h, w), torch.eye(3) + shift, h, w, border, [7.0]
    yield warp_c.resize, (190, 77), 190, 77, True
    yield warp_c.resize, (190, 77), 190, 77, False


@needs_kernels
def test_instructions_agree() -> None:
    image, found = noise(4, 3, 61, 83), []
    for name in built.library.sets():
        built.library.use(name)
        found.append([])
        for backend, size, *args in calls(image):
            out = torch.empty((4, 3, *size), dtype=torch.uint8)
            backend.run(image, out, None, *args)
            found[-1].append(out)
    assert all(torch.equal(one, other) for outs in found for one, other in zip(outs, found[0], strict=True))


def test_threads_and_bands_agree(instructions: str) -> None:
    image = noise(9, 3, 320, 290)
    for backend, size, *args in calls(image):
        in_parts(backend, image, size, *args)


@needs_kernels
def test_what_is_not_done() -> None:
    image, matrix = noise(1, 3, 5, 5), torch.eye(3)[None]
    assert warp_c.warp.takes(image, matrix, 5, 5, 0, 0, [0.0], False, False)
    assert not warp_c.warp.takes(image, matrix, 5, 5, 2, 0, [0.0], False, False)
    assert not warp_c.warp.takes(image, matrix, 5, 5, 0, 0, [256.0], False, False)
    assert not warp_c.warp.takes(image[..., :0], matrix, 5, 5, 0, 0, [0.0], False, False)
    assert not warp_c.permute.takes(image[..., :0], matrix, 5, 5, "constant", [0.0])
    assert not warp_c.warp.serves(image.float())
    assert warp_c.permute.serves(image.float())
    huge = torch.zeros(1, dtype=torch.uint8).expand(1, 1, 2**15, 2**14)
    assert not warp_c.warp.takes(huge, matrix, 5, 5, 0, 0, [0.0], False, False)
    assert not warp_c.resize.takes(huge, 5, 5, False) or huge[0, 0].numel() <= built.MOST_PIXELS


@pytest.mark.parametrize("shape", [(0, 3, 5, 6), (2, 0, 5, 6)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_nothing_comes_of_nothing(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    image, b = torch.zeros(shape, dtype=dtype), shape[0]
    matrix = torch.tensor([[0.9, 0.1, 0], [0, 1, 0], [0, 0, 1]]).expand(b, 3, 3)
    for mode in ("nearest", "bilinear"):
        assert native.warp_homography(image, matrix, (7, 8), mode, "zeros", [0.0], False).shape == (*shape[:2], 7, 8)
        assert native.displace(image, torch.ones(b, 2, 7, 8), mode, "zeros", [0.0]).shape == (*shape[:2], 7, 8)
    assert native.permute(image, matrix.round(), (7, 8), "constant", [0.0]).shape == (*shape[:2], 7, 8)
    assert native.resize(image, (7, 8), False).shape == (*shape[:2], 7, 8)
    assert native.downscale(image, torch.full((b,), 0.5), "area", "bilinear").shape == shape


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
    assert found.is_contiguous(memory_format=layout) and expected.is_contiguous(memory_format=layout)
    assert (found.int() - expected).abs().max() <= 1
