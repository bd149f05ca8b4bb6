"""Crops and resizes: known answers, and what users asked for."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

import augment as K
from tests.support.helpers import call_seeded, picture, ramp, seq
from tests.support.known import replay, slope


def test_opcheck_of_the_window() -> None:
    place = torch.ops.augment.place.default
    for corner, size in (((-2, 3), (12, 9)), ((1, -1), (3, 20)), ((0, 0), (8, 8)), ((30, 0), (4, 4))):
        image = picture(2, size=(8, 8)).requires_grad_()
        torch.library.opcheck(place, (image, *corner, *size, [0.25]))
        padded = np.pad(image.detach().numpy(), [(0, 0), (0, 0), (40, 40), (40, 40)], constant_values=0.25)
        top, left = corner[0] + 40, corner[1] + 40
        expected = padded[..., top : top + size[0], left : left + size[1]]
        assert torch.equal(place(image, *corner, *size, [0.25]), torch.from_numpy(expected.copy()))
        double = image.detach().double().requires_grad_()
        torch.autograd.gradgradcheck(lambda x, at=(*corner, *size): place(x, *at, [0.25]), double)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_opaque_resize(align_corners: bool, memory_format: torch.memory_format) -> None:
    resize = torch.ops.augment.resize.default
    image = picture(2, size=(7, 9)).double().contiguous(memory_format=memory_format).requires_grad_()
    for size in ((12, 5), (1, 18), (7, 9)):
        torch.library.opcheck(resize, (image, *size, align_corners))
        expected = F.interpolate(image, size, mode="bilinear", align_corners=align_corners)
        assert_close(resize(image, *size, align_corners), expected, rtol=0, atol=1e-12)
        torch.autograd.gradcheck(lambda x, size=size: resize(x, *size, align_corners), image)
        torch.autograd.gradgradcheck(lambda x, size=size: resize(x, *size, align_corners), image)


def test_crops_take_whole_pixels() -> None:
    image = slope(7, 9)
    assert torch.equal(K.CenterCrop((3, 4))(image), image[..., 2:5, 2:6])
    output = replay(K.RandomCrop((3, 4)), image, src=[[5, 1], [8, 1], [8, 3], [5, 3]])
    assert torch.equal(output, image[..., 1:4, 5:9])
    padded = replay(K.RandomCrop((3, 4), padding=(1, 2, 0, 0), fill=0.5), image, src=[[0, 0], [3, 0], [3, 2], [0, 2]])
    assert padded[0, 0, :2].eq(0.5).all() and padded[0, 0, 2, 0] == 0.5
    assert torch.equal(padded[..., 2, 1:], image[..., 0, :3])


def test_resized_crop_of_the_whole_frame_is_the_identity() -> None:
    image = torch.rand(2, 3, 7, 11)
    op = K.RandomResizedCrop((7, 11), scale=(1.0, 1.0), ratio=(11 / 7, 11 / 7))
    assert torch.equal(op(image), image)


def test_resize_meets_centres_or_edges() -> None:
    image = torch.tensor([[[[0.0, 1.0]]]])
    centres = K.Resize((1, 4), align_corners=True)(image).flatten()
    edges = K.Resize((1, 4), align_corners=False)(image).flatten()
    assert_close(centres, torch.tensor([0, 1 / 3, 2 / 3, 1]))
    assert_close(edges, torch.tensor([0, 0.25, 0.75, 1]))
    assert K.Resize(8, side="short")(torch.rand(1, 1, 17, 23)).shape[-2:] == (8, 10)
    assert K.Resize(8, side="long")(torch.rand(1, 1, 17, 23)).shape[-2:] == (5, 8)


@pytest.mark.parametrize(("n", "m"), [(40, 20), (6, 1), (36, 6), (384, 64), (20, 50)])
def test_nearest_takes_the_pixel_under_the_centre_and_the_upper_of_two(n: int, m: int) -> None:
    image = torch.arange(n, dtype=torch.float32).view(1, 1, 1, n)
    expected = [(2 * j + 1) * n // (2 * m) for j in range(m)]  # the floor of (j + 1/2) n / m, in whole numbers
    assert K.Resize((1, m), resample="nearest")(image).flatten().tolist() == expected
    op, frame = K.RandomResizedCrop((1, m), resample="nearest"), [[0, 0], [n - 1, 0], [n - 1, 0], [0, 0]]
    assert replay(op, image, src=frame).flatten().tolist() == expected


@pytest.mark.parametrize("size", [(15, 20), (24, 31)])
def test_antialiased_resize_is_that_of_torchvision(size: tuple[int, int]) -> None:
    """torchgeo/torchgeo#2732, #1587: shrunk and enlarged."""
    resize = pytest.importorskip("torchvision.transforms.v2.functional").resize
    assert_close(K.Resize(size, antialias=True)(picture()), resize(picture(), list(size), antialias=True))


def test_inverse_of_a_wrapped_crop() -> None:
    """#1491: a crop is undone alike alone and in a container; what it kept is back at its place."""
    op, image = K.RandomCrop((2, 2), padding=1), ramp(3, 1, 3, 3) + 1
    for seed in range(6):
        output = call_seeded(seq(op), image, seed=seed)
        back = op.inverse(output)
        assert torch.equal(back, seq(op).inverse(output, params=[K.ParamItem("RandomCrop_0", op._params)]))
        kept = torch.isin(image, output)
        assert torch.equal(back, torch.where(kept, image, 0))


@pytest.mark.parametrize(("height", "width", "size"), [(329, 1209, (416, 416)), (6, 8, (10, 10)), (6, 8, (6, 9))])
@pytest.mark.parametrize("mode", ["slice", "resample"])
def test_crop_larger_than_the_image(height: int, width: int, size: tuple[int, int], mode: str) -> None:
    """#3306, #4414: an oversized crop is an error, never an enlargement."""
    image = ramp(1, 1, height, width)
    for op in (K.RandomCrop(size, cropping_mode=mode), K.CenterCrop(size, cropping_mode=mode)):
        with pytest.raises(ValueError, match="size: expected at most"):
            op(image)
    assert K.RandomCrop(size, pad_if_needed=True, cropping_mode=mode)(image).shape[-2:] == size


def test_skipped_crop_with_padding() -> None:
    """#4473: where a crop of the image's size is skipped, neither pixels nor labels move."""
    values = [ramp(2, 1, 4, 8), torch.tensor([[[3.0, 2.0]]]).repeat(2, 1, 1), torch.tensor([[[1.0, 0, 3, 2]]] * 2)]
    output = seq(K.RandomCrop((4, 8), padding=(1, 2), p=0.0), keys="image keypoints bbox_xyxy")(*values)
    assert all(torch.equal(a, b) for a, b in zip(output, values, strict=True))


@pytest.mark.parametrize("op", [K.RandomCrop((4, 5), padding=1), K.Resize((3, 4)), K.CenterCrop((4, 5))])
def test_mixed_gate_of_ops_that_change_the_size(op: nn.Module) -> None:
    """#4497: with a mixed gate, each row's labels are where its pixels are, and lead back."""
    image, points = ramp(4, 1, 6, 8), torch.tensor([[[3.0, 2.0], [4.0, 3.0]]]).repeat(4, 1, 1)
    container = seq(op, keys="image keypoints")
    params = container.forward_parameters(image.shape)
    params[0].data["batch_prob"] = torch.tensor([0.0, 1.0, 0.0, 1.0])
    output, moved = container(image, points, params=params)
    base = torch.arange(4.0).view(4, 1) * 48
    if isinstance(op, K.Resize):  # a ramp is linear, and stays so
        corner = F.pad(moved, (0, 1), value=1.0) @ op.transform_matrix.inverse().mT
        assert_close(corner[..., :2], points)
        assert_close(output[:, 0, 0, 0], base[:, 0])
    else:
        x, y = moved.long().unbind(-1)
        inside = (x >= 0) & (x < 5) & (y >= 0) & (y < 4)
        found = output[torch.arange(4)[:, None], 0, y.clamp(0, 3), x.clamp(0, 4)]
        assert inside[::2].all() and torch.equal(found[inside], (base + torch.tensor([19.0, 28.0]))[inside])
        assert torch.equal(output[::2], image[::2, :, 1:5, 1:6])  # the centred window
    assert_close(container.inverse(output, moved)[1], points)


def test_window_of_resized_crops() -> None:
    """#927, #956: a window is a share of the input's area, drawn as torchvision does; small images are enlarged."""
    assert K.RandomResizedCrop(224)(picture(2, size=(147, 190))).isfinite().all()
    op = K.RandomResizedCrop(64, scale=(0.25, 0.25), ratio=(1.0, 1.0))
    src = op.forward_parameters((50, 3, 400, 300))["src"]
    assert (src[:, 2] - src[:, 0] + 1 - math.sqrt(0.25 * 400 * 300)).abs().max() <= 1
    theirs = pytest.importorskip("torchvision.transforms").RandomResizedCrop
    n, shape = 5000, (1, 240, 320)
    src = K.RandomResizedCrop(64).forward_parameters((n, *shape))["src"]
    ours = (src[:, 2] - src[:, 0] + 1).flip(-1)
    drawn = [theirs.get_params(torch.empty(shape), (0.08, 1.0), (3 / 4, 4 / 3))[2:] for _ in range(n)]
    for statistic in (lambda hw: hw.prod(1) / (240 * 320), lambda hw: hw[:, 1] / hw[:, 0]):
        both = [statistic(sizes.float()).sort().values for sizes in (ours, torch.tensor(drawn))]
        apart = [(torch.searchsorted(a, b, right=True) / n - torch.arange(1, n + 1) / n).abs().max() for a, b in [both]]
        assert max(apart) < 1.95 * math.sqrt(2 / n)  # Kolmogorov and Smirnov, one in a thousand
