"""What the README's table says of other libraries is true of the versions that it names."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import augment as K

README = (Path(__file__).parents[2] / "README.md").read_text()
HEAD = next(line for line in README.splitlines() if line.startswith("| | augment |"))


def library(name: str) -> Any:
    """A library, if it is there in the version that the table names."""
    module = pytest.importorskip(name)
    told = re.search(rf"{name} ([\d.]+)", HEAD)
    assert told, f"the table names no version of {name}"
    if not f"{module.__version__}.".startswith(f"{told[1]}."):
        pytest.skip(f"the table is about {name} {told[1]}, and this is {module.__version__}")
    return module


@pytest.fixture
def kornia() -> Any:
    library("kornia")
    import kornia.augmentation

    return kornia.augmentation


@pytest.fixture
def v2() -> Any:
    library("torchvision")
    from torchvision.transforms import v2

    return v2


@pytest.fixture
def albumentations() -> Any:
    return library("albumentations")


def alike(batch: Any) -> bool:
    """Whether all images of a batch are one."""
    return all(bool((image == batch[0]).all()) for image in batch)


def one_image(dtype: torch.dtype = torch.float32) -> Tensor:
    """A batch of sixteen times the same image."""
    image = torch.randint(0, 256, (1, 3, 24, 24), dtype=torch.uint8).expand(16, -1, -1, -1).contiguous()
    return image if dtype == torch.uint8 else image / 255


def whole(call: Callable[..., Any], *args: Any) -> Any:
    return torch.compile(call, fullgraph=True, backend="eager")(*args)


def test_draws_of_a_batch(kornia: Any, v2: Any, albumentations: Any) -> None:
    assert not alike(K.RandomAffine(90.0, p=1.0)(one_image()))
    assert not alike(kornia.RandomAffine(90.0, p=1.0)(one_image()))
    assert alike(v2.RandomAffine(90)(one_image()))
    arrays = one_image(torch.uint8).permute(0, 2, 3, 1).numpy()
    turned = albumentations.Compose([albumentations.Affine(rotate=(-90, 90), p=1.0)])(images=arrays)
    assert alike(turned["images"])


def test_choices_of_a_batch(kornia: Any, v2: Any, albumentations: Any) -> None:
    image = one_image(torch.uint8)
    assert not alike(K.OneOf(K.RandomInvert(p=1.0), K.RandomSolarize(0.4, 0.0, p=1.0))(image))
    assert not alike(K.RandAugment(1, 9)(image))
    assert alike(v2.RandomChoice([v2.RandomInvert(1.0), v2.RandomSolarize(100, 1.0)])(image))
    assert alike(v2.RandAugment(1, 9)(image))
    ops = kornia.RandomInvert(p=1.0), kornia.RandomGrayscale(p=1.0)
    assert alike(kornia.AugmentationSequential(*ops, random_apply=1)(one_image()))
    assert not hasattr(albumentations, "RandAugment") and hasattr(albumentations, "OneOf")


def test_compiling(kornia: Any, v2: Any) -> None:
    image = one_image()
    whole(kornia.RandomHorizontalFlip(), image)
    with pytest.raises(Exception, match="(?i)data-dependent"):
        whole(kornia.ColorJitter(0.2, 0.2, 0.2, 0.2), image)
    torch._dynamo.reset()
    with pytest.raises(Exception, match="(?i)data-dependent"):
        whole(v2.RandomHorizontalFlip(), image)


def test_bytes(kornia: Any, v2: Any, albumentations: Any) -> None:
    image = one_image(torch.uint8)
    assert K.RandomHorizontalFlip()(image).dtype == v2.RandomHorizontalFlip()(image).dtype == torch.uint8
    assert albumentations.HorizontalFlip()(image=image[0].permute(1, 2, 0).numpy())["image"].dtype == np.uint8
    with pytest.raises(TypeError, match=r"torch\.uint8"):
        kornia.RandomHorizontalFlip()(image)


def test_gradients(kornia: Any, v2: Any) -> None:
    for op in (K.RandomAffine(20.0, p=1.0), kornia.RandomAffine(20.0, p=1.0), v2.RandomAffine(20)):
        image = one_image().requires_grad_()
        op(image).sum().backward()
        assert image.grad is not None and image.grad.any()
    image = one_image().requires_grad_()
    with pytest.raises(RuntimeError):
        v2.ColorJitter(0.2, 0.2, 0.2, 0.2)(image).sum().backward()


def test_labels_under_elastic_warps(kornia: Any, v2: Any, albumentations: Any) -> None:
    from torchvision import tv_tensors as tv

    points, boxes = torch.rand(1, 5, 2) * 20 + 2, torch.tensor([[[3.0, 4.0, 17.0, 18.0]]])
    keys = ["input", "keypoints", "bbox_xyxy"]
    for library, moves in ((K, True), (kornia, False)):
        op = library.RandomElasticTransform(alpha=(5.0, 5.0), p=1.0)
        _, *labels = library.AugmentationSequential(op, data_keys=keys)(torch.rand(1, 3, 24, 24), points, boxes)
        assert [not torch.equal(*pair) for pair in zip(labels, (points, boxes), strict=True)] == [moves] * 2
    given = (
        tv.KeyPoints(points[0], canvas_size=(24, 24)),
        tv.BoundingBoxes(boxes[0], format="XYXY", canvas_size=(24, 24)),
    )
    _, *labels = v2.ElasticTransform(alpha=200.0)(tv.Image(torch.rand(3, 24, 24)), *given)
    assert not any(torch.equal(*pair) for pair in zip(labels, given, strict=True))
    op = albumentations.ElasticTransform(alpha=50, sigma=3, p=1.0)
    moved = albumentations.Compose([op], keypoint_params=albumentations.KeypointParams("xy"))
    found = moved(image=np.zeros((24, 24, 3), np.uint8), keypoints=points[0].numpy())["keypoints"]
    assert not np.array_equal(found, points[0].numpy())


@pytest.mark.filterwarnings("ignore:RandomCutMixV2:DeprecationWarning")
def test_labels_in_mixes(kornia: Any, v2: Any, albumentations: Any) -> None:
    from torchvision import tv_tensors as tv

    image, classes = torch.rand(2, 3, 24, 24), torch.tensor([0, 1])
    labels = {"mask": torch.ones(2, 1, 24, 24), "bbox_xyxy": torch.tensor([[[3.0, 4, 17, 18]]] * 2)}
    labels["keypoints"] = torch.rand(2, 5, 2) * 20
    for name in ("RandomMixUpV2", "RandomCutMixV2", "RandomMosaic"):
        for key, value in labels.items():
            getattr(K, name)(p=1.0, data_keys=["image", key])(image, value)
            if (name, key) != ("RandomMosaic", "bbox_xyxy"):
                with pytest.raises(NotImplementedError):
                    getattr(kornia, name)(p=1.0, data_keys=["input", key])(image, value)
    kornia.RandomMosaic((24, 24), p=1.0, data_keys=["input", "bbox_xyxy"])(image, labels["bbox_xyxy"])
    kornia.RandomCutMixV2(p=1.0, data_keys=["input", "class"])(image, classes)
    v2.CutMix(num_classes=2)(image, classes)
    with pytest.raises(ValueError, match="does not support"):
        v2.CutMix(num_classes=2)(tv.Image(image), tv.Mask(labels["mask"]), classes)
    assert not [name for name in dir(albumentations) if re.search("mixup|cutmix", name.lower())]
    assert {target.name for target in albumentations.Mosaic._targets} == {"IMAGE", "MASK", "BBOXES", "KEYPOINTS"}


def test_what_is_there(kornia: Any, v2: Any, albumentations: Any) -> None:
    from augment.testing import ops

    assert hasattr(kornia.AugmentationSequential, "inverse") and hasattr(kornia, "RandomAffine3D")
    assert hasattr(v2, "SanitizeBoundingBoxes") and not hasattr(v2.RandomAffine, "inverse")
    for name in ("ReplayCompose", "to_dict", "save", "CenterCrop3D", "OneOf"):
        assert hasattr(albumentations, name)
    assert not hasattr(albumentations.Affine, "inverse")
    base = albumentations.ImageOnlyTransform, albumentations.DualTransform
    theirs = [t for t in vars(albumentations).values() if isinstance(t, type) and issubclass(t, base)]
    assert len(theirs) > len(ops())
