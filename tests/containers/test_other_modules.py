"""Modules that are no ops, which change the size of images before ops: in every container that holds them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d

import augment as K
from tests.support.helpers import assert_params_close, call_seeded, graphs, ramp


def halves() -> nn.Module:
    return nn.AvgPool2d(2)


def doubles() -> nn.Module:
    return nn.Upsample(scale_factor=2)


NESTS: dict[str, Callable[..., nn.Module]] = {
    "image": K.ImageSequential,
    "augmentation": K.AugmentationSequential,
    "nested": lambda pool, *ops: K.AugmentationSequential(K.ImageSequential(pool, *ops)),
    "behind a nest": lambda pool, *ops: K.ImageSequential(K.AugmentationSequential(pool), *ops),
    "fused": lambda pool, *ops: K.AugmentationSequential(
        K.RandomVerticalFlip(p=0.0), pool, K.RandomVerticalFlip(p=0.0), *ops, fuse=True
    ),
    "around a choice": lambda pool, *ops: K.ImageSequential(nn.Identity(), pool, K.OneOf(*ops)),
}
each = pytest.mark.parametrize("name", NESTS)


def windows(crops: Tensor, images: Tensor) -> list[tuple[int, int]]:
    """Give where in the images (B, 1, H, W), of which no two pixels are equal, square crops are."""
    found = []
    for crop, image in zip(crops, images, strict=True):
        (y, x) = (image[0] == crop[0, 0, 0]).nonzero().squeeze(0).tolist()
        assert torch.equal(image[:, y : y + crop.shape[-1], x : x + crop.shape[-1]], crop)
        found.append((y, x))
    return found


@each
@pytest.mark.parametrize("make", [halves, doubles])
def test_ops_behind_see_the_size_that_comes(name: str, make: Callable[[], nn.Module]) -> None:
    """A crop of 3 x 3 out of 4 x 4 pixels has 4 places; out of 16 x 16 the last row of the input is reached."""
    image, container = ramp(300, 1, 8, 8), NESTS[name](make(), K.RandomCrop((3, 3)))
    output = container(image)
    if make is halves:
        assert set(windows(output, avg_pool2d(image, 2))) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    else:
        index = output.long()  # of the pixel, counted through all images
        assert torch.equal(index.flatten(1) // 64, torch.arange(300).unsqueeze(1).expand(-1, 9))
        assert set((index % 64 // 8).flatten().tolist()) == set((index % 8).flatten().tolist()) == set(range(8))
    assert torch.equal(container(image, params=container._params), output)


@each
def test_ops_before_and_behind(name: str) -> None:
    """The pool halves what the first crop leaves, 6 x 6 to 3 x 3, in which a crop of 2 x 2 has four places."""
    pool = nn.Sequential(K.CenterCrop((6, 6)), nn.AvgPool2d(2))
    image = ramp(64, 1, 8, 8)
    output = NESTS[name](pool, K.RandomCrop((2, 2)))(image)
    assert len(set(windows(output, avg_pool2d(image[..., 1:7, 1:7], 2)))) == 4


def test_channels_count_as_well() -> None:
    """Of sixteen channels one is dropped, and all of them are in turn."""
    spread = nn.Conv2d(1, 16, 1).requires_grad_(False)
    spread.weight.fill_(0.0)
    spread.bias.fill_(1.0)
    output = K.ImageSequential(spread, K.RandomChannelDropout(num_drop_channels=1, p=1.0))(torch.ones(400, 1, 4, 4))
    assert torch.equal((output == 0).all(-1).all(-1).sum(1), torch.ones(400, dtype=torch.long))
    assert (output == 0).any(0).any(-1).any(-1).all()


@pytest.mark.parametrize("same_on_frame", [True, False])
def test_videos(same_on_frame: bool) -> None:
    clips = ramp(40, 3, 1, 8, 8)
    video = K.VideoSequential(halves(), K.RandomCrop((2, 2)), data_format="BTCHW", same_on_frame=same_on_frame)
    for container in (video, K.AugmentationSequential(video)):
        output = container(clips)
        assert output.shape == (40, 3, 1, 2, 2)
        places = windows(output.flatten(0, 1), avg_pool2d(clips.flatten(0, 1), 2))
        assert len(set(places)) == 9
        alike = [len(set(places[i : i + 3])) == 1 for i in range(0, 120, 3)]
        assert all(alike) if same_on_frame else not all(alike)
        assert torch.equal(container(clips, params=container._params), output)


def test_draws_are_those_without_the_module() -> None:
    """What a module leaves is augmented as if it had come alone, and a module that keeps the size changes no draw."""
    ops = [K.RandomCrop((3, 3)), K.RandomAffine(20.0), K.ColorJitter(0.2, 0.2, 0.2, 0.1)]
    image = torch.rand(4, 3, 8, 8)
    behind = call_seeded(K.ImageSequential(halves(), *ops), image)
    assert torch.equal(behind, call_seeded(K.ImageSequential(*ops), avg_pool2d(image, 2)))
    among = K.ImageSequential(ops[0], nn.Identity(), *ops[1:])
    assert torch.equal(call_seeded(among, image), call_seeded(K.ImageSequential(*ops), image))
    params = call_seeded(among.forward_parameters, image.shape)
    assert torch.equal(among(image, params=params), call_seeded(among, image))


def test_dispatchers_and_generators() -> None:
    image = torch.rand(4, 1, 8, 8)
    views = [K.ImageSequential(halves(), K.RandomCrop((2, 2))) for _ in range(2)]
    one, other = K.ManyToOneAugmentationDispatcher(*views)(image)
    assert one.shape == other.shape == (4, 1, 2, 2) and not torch.equal(one, other)
    drawn = [views[0](image, generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(*drawn)
    views[0].generator = torch.Generator().manual_seed(3)
    assert torch.equal(views[0](image), drawn[0])


@each
def test_dynamo_other_modules(name: str, optimizer: str) -> None:
    container, image = NESTS[name](halves(), K.RandomCrop((2, 2))), ramp(6, 1, 8, 8)
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    for seed in range(5):
        output, params = call_seeded(compiled, image, seed=seed), container._params
        assert torch.equal(output, call_seeded(container, image, seed=seed))
        assert_params_close(params, container._params)
    assert graphs() == 1


# ------------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mask", torch.zeros(2, 1, 8, 8)),
        ("mask", [torch.zeros(1, 8, 8)] * 2),
        ("keypoints", torch.zeros(2, 3, 2)),
        ("bbox_xyxy", torch.zeros(2, 3, 4)),
        ("bbox_xywh", torch.zeros(2, 3, 4)),
        ("bbox", [torch.zeros(3, 4, 2)] * 2),
    ],
)
@each
def test_labels_would_be_left_behind(name: str, key: str, value: Any) -> None:
    for options in ({}, {"min_visibility": 0.1}):
        container = K.AugmentationSequential(NESTS[name](halves(), K.RandomHorizontalFlip()), **options)
        text = rf"AvgPool2d: expected a module that keeps the size of images, for {key} does not follow"
        with pytest.raises(ValueError, match=text):
            container(torch.rand(2, 1, 8, 8), value, data_keys=["image", key])
        with pytest.raises(ValueError, match=text):
            container({"image": torch.rand(2, 1, 8, 8), key: value}, data_keys=None)


def test_the_refusal_names_path_and_sizes() -> None:
    container = K.AugmentationSequential(K.RandomInvert(), K.ImageSequential(halves()), data_keys=["image", "mask"])
    text = r"AugmentationSequential\[1\]\.ImageSequential\[0\]\.AvgPool2d: .* got \(2, 1, 4, 4\) from \(2, 1, 8, 8\)"
    with pytest.raises(ValueError, match=text):
        container(torch.rand(2, 1, 8, 8), torch.zeros(2, 1, 8, 8))
    image, names = K.ImageSequential(halves(), data_keys=["image", "class"])(torch.rand(2, 1, 8, 8), ["a", "b"])
    assert image.shape == (2, 1, 4, 4) and names == ["a", "b"]  # classes have no place

    class Pairs(nn.Module):
        def forward(self, image: Tensor) -> Tensor:
            return image[::2]

    with pytest.raises(ValueError, match="Pairs: .*for class does not follow"):
        K.ImageSequential(Pairs(), data_keys=["image", "class"])(torch.rand(2, 1, 8, 8), torch.arange(2))


@pytest.mark.parametrize(
    "make",
    [
        lambda pool: K.OneOf(pool),
        lambda pool: K.OneOf(K.RandomInvert(p=1.0), pool),
        lambda pool: K.RandomApply([pool, K.RandomCrop((2, 2))]),
        lambda pool: K.OneOf(K.ImageSequential(pool, K.RandomCrop((2, 2)))),
        lambda pool: K.SomeOf(K.RandomInvert(), K.ImageSequential(pool, K.Resize((8, 8))), n=2),
        lambda pool: K.AugmentationSequential(pool, K.RandomInvert(), random_apply=2),
        lambda pool: K.PatchSequential(pool, grid_size=(1, 1)),
        lambda pool: K.PatchSequential(pool, pool.__class__(2), grid_size=(1, 2)),
        lambda pool: K.PatchSequential(pool, K.RandomInvert(), patchwise_apply=False, grid_size=(2, 2)),
        lambda pool: K.PatchSequential(K.ImageSequential(pool, K.RandomInvert()), grid_size=(1, 1)),
    ],
)
def test_choices_and_patches_keep_the_size(make: Callable[[nn.Module], nn.Module]) -> None:
    text = r"AvgPool2d: expected a module that keeps the shape of images inside a choice or patches; got"
    for container in (make(halves()), K.ImageSequential(nn.Identity(), make(halves()))):
        with pytest.raises(ValueError, match=text):
            container(torch.rand(3, 1, 8, 8))


def test_parameters_drawn_ahead_for_another_size_are_refused() -> None:
    image = torch.ones(4, 1, 8, 8)
    container = K.ImageSequential(halves(), nn.Identity(), K.RandomCrop((2, 2)))
    with pytest.raises(RuntimeError, match=r"ImageSequential\[2\]\.RandomCrop: params: .*modules before"):
        container(image, params=container.forward_parameters(image.shape))
    container(image)
    assert torch.equal(container(image, params=K.plain(container._params)), torch.ones(4, 1, 2, 2))
    back = K.ImageSequential(halves(), doubles(), K.RandomCrop((2, 2)))
    assert back(image, params=back.forward_parameters(image.shape)).shape == (4, 1, 2, 2)


def test_modules_give_tensors() -> None:
    class Unbound(nn.Module):
        def forward(self, image: Tensor) -> Any:
            return image.unbind(0)

    image = torch.rand(2, 1, 8, 8)
    with pytest.raises(
        TypeError, match=r"ImageSequential\[0\]\.Unbound: expected a module that gives a tensor, got tuple"
    ):
        K.ImageSequential(Unbound())(image)
    text = r"ImageSequential\[1\]\.RandomInvert: expected images .* from the modules before it; got \(2, 64\)"
    with pytest.raises(ValueError, match=text):
        K.ImageSequential(nn.Flatten(), K.RandomInvert())(image)
    assert K.ImageSequential(K.RandomInvert(), nn.Flatten())(image).shape == (2, 64)
