"""AugmentationSequential: several ops, one call, every target."""

import copy
import io
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import augment as K
from tests.support.helpers import SAME_SHAPE, Case, assert_params_close, call_seeded, graphs, picture

B, H, W = 3, 12, 16
KEYS = ["image", "mask", "bbox_xyxy", "bbox_xywh", "bbox", "keypoints", "class"]


def sample(b: int = B, n: int = 2, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Give a value for each of KEYS."""
    draw = torch.Generator().manual_seed(8)
    points = torch.rand(b, n, 2, generator=draw) * torch.tensor([W - 8.0, H - 6.0]) + 2
    extent = torch.rand(b, n, 2, generator=draw) * 4 + 1
    boxes, wide = torch.cat([points, points + extent], -1), torch.cat([points, extent], -1)
    corners = boxes[..., [0, 1, 2, 1, 2, 3, 0, 3]].unflatten(-1, (4, 2))
    mask = torch.randint(5, (b, 1, H, W), generator=draw)
    return [picture(b, 3, (H, W), dtype), mask, boxes, wide, corners, points, torch.arange(b)]


def nest(**options: Any) -> K.AugmentationSequential:
    """Build a container in a container in a container."""
    inner = K.AugmentationSequential(K.RandomAffine(20.0, (0.1, 0.1), p=0.6), K.RandomBrightness((0.7, 1.3), p=0.5))
    middle = K.AugmentationSequential(K.RandomVerticalFlip(), inner, K.RandomCrop((10, 12)))
    return K.AugmentationSequential(K.RandomHorizontalFlip(), middle, K.RandomErasing(), data_keys=KEYS, **options)


def same(a: Any, b: Any) -> bool:
    """Say whether two outputs of a container are equal to the last bit."""
    return all(torch.equal(x.nan_to_num(7), y.nan_to_num(7)) for x, y in zip(a, b, strict=True))


def shares(a: Tensor, b: Tensor) -> bool:
    return a.numel() > 0 and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


# ---------------------------------------------------------------------------------------------------------- in and out


def test_every_key_is_flipped() -> None:
    image, mask, boxes, wide, corners, points, labels = values = sample()
    container = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), data_keys=KEYS)
    output = container(*values)
    assert isinstance(output, list)
    assert torch.equal(output[0], image.flip(-1)) and torch.equal(output[1], mask.flip(-1))
    x1, y1, x2, y2 = boxes.unbind(-1)
    assert_close(output[2], torch.stack([W - x2, y1, W - x1, y2], -1))
    x, y, w, h = wide.unbind(-1)
    assert_close(output[3], torch.stack([W - x - w, y, w, h], -1))
    assert_close(output[4], corners * torch.tensor([-1, 1]) + torch.tensor([W, 0]))
    assert_close(output[5], points * torch.tensor([-1, 1]) + torch.tensor([W - 1, 0]))
    assert torch.equal(output[6], labels)
    assert torch.equal(container(image, data_keys=["image"]), image.flip(-1))  # one value comes alone


def test_names_of_keys() -> None:
    named = pytest.importorskip("kornia.constants").DataKey
    image, mask = sample()[:2]
    for keys in (["INPUT", "MASK"], ["input", "Mask"], [named.INPUT, named.MASK]):
        output = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), data_keys=keys)(image, mask)
        assert same(output, [image.flip(-1), mask.flip(-1)])


def test_dict() -> None:
    image, mask, boxes, _, _, points, labels = sample()
    strangers = {
        "id": object(),
        3: "three",
        "image_id": labels,
        "mask_names": ["a"],
        "bbox_labels": [labels] * B,
        "keypoints_visible": torch.ones(B, 5),
        "depth": torch.ones(B, 1, H, W),
    }
    entries = {"keypoints": points, "image": image, "mask_left": mask, "image-2": image, "BBOX_XYXY": boxes}
    mixed = {"id": strangers["id"], **entries, **strangers}
    before, copies = dict(mixed), copy.deepcopy(entries)
    for op in (K.RandomGaussianNoise(p=1.0), nn.Identity(), K.RandomHorizontalFlip(p=1.0)):
        output = K.AugmentationSequential(op, data_keys=None)(mixed)
        assert type(output) is dict and list(output) == list(before)
        assert all(output[k] is v for k, v in strangers.items())
        assert mixed == before and all(torch.equal(mixed[k], v) for k, v in copies.items())
        assert not any(shares(output[k], v) for k, v in entries.items())
    assert torch.equal(output["mask_left"], mask.flip(-1)) and torch.equal(output["image-2"], image.flip(-1))
    assert torch.equal(output["BBOX_XYXY"][..., 0], W - boxes[..., 2])


@pytest.mark.parametrize("ops", [[K.RandomGaussianNoise(p=1.0)], [K.RandomHorizontalFlip(p=0.0)], [nn.Identity()], []])
def test_outputs_share_no_memory(ops: list[nn.Module]) -> None:
    values = [*sample(), list(sample()[1]), list(sample()[2]), ["a", "b", "c"]]
    output = K.AugmentationSequential(*ops, data_keys=[*KEYS, "mask", "bbox_xyxy", "class"])(*values)
    assert output[-1] == values[-1]
    for new, old in zip(output[:-1], values[:-1], strict=True):
        pairs = zip(new, old, strict=True) if isinstance(new, list) else [(new, old)]
        assert not any(shares(a, b) for a, b in pairs)


@pytest.mark.parametrize("case", SAME_SHAPE, ids=repr)
def test_p_zero_keeps_every_bit(case: Case) -> None:
    values = sample()
    values[0][1] = float("nan")
    for i in (2, 4, 5):
        values[i] = values[i] / 3
        values[i][1], values[i][2] = float("nan"), -1e30
    assert same(K.AugmentationSequential(case(p=0.0), data_keys=KEYS)(*values), values)


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("key", "value", "error", "message"),
    [
        ("mask", torch.zeros(2, 1, H, W), ValueError, "mask: expected 3 rows"),
        ("mask", [torch.zeros(1, H, W)] * 2, ValueError, "mask: expected 3 rows"),
        ("mask", torch.zeros(3, 1, H, W + 1), ValueError, "mask: expected the image's height and width"),
        ("mask", [torch.zeros(1, W, H)] * 3, ValueError, "mask: expected the image's height and width"),
        ("mask", torch.zeros(3, 1, 1, H, W), ValueError, "mask: expected 2 to 4 dimensions"),
        ("mask", [1, 2, 3], TypeError, "mask: expected a tensor"),
        ("image", torch.zeros(3, 1, H, W + 1), ValueError, "image: expected the image's height and width"),
        ("image", torch.zeros(3, 1, H, W, dtype=torch.int64), TypeError, "image: expected a floating or uint8"),
        ("image", [torch.zeros(1, H, W)] * 3, TypeError, "image: expected a tensor"),
        ("bbox_xyxy", torch.zeros(2, 5, 4), ValueError, "bbox_xyxy: expected 3 rows"),
        ("bbox_xyxy", torch.zeros(3, 5, 5), ValueError, r"bbox_xyxy: expected .* the last being \(4,\)"),
        ("bbox_xywh", torch.zeros(3, 5, 4, 1), ValueError, "bbox_xywh: expected 2 to 3 dimensions"),
        ("bbox", torch.zeros(3, 5, 4), ValueError, "bbox: expected"),
        ("keypoints", torch.zeros(3, 5, 3), ValueError, "keypoints: expected"),
        ("keypoints", torch.zeros(2), ValueError, "keypoints: expected"),
        ("keypoints", [[1.0, 2.0]] * 3, TypeError, "keypoints: expected a tensor"),
    ],
)
def test_bad_values(key: str, value: Any, error: type[Exception], message: str) -> None:
    container = K.AugmentationSequential(K.RandomHorizontalFlip(), data_keys=["image", key])
    with pytest.raises(error, match=message):
        container(sample()[0], value)


def test_bad_calls() -> None:
    image, mask = sample()[:2]
    container = K.AugmentationSequential(K.RandomHorizontalFlip(), K.RandomAffine(9.0), data_keys=["image", "mask"])
    for values in ((image,), (image, mask, mask)):
        with pytest.raises(ValueError, match="args: expected one value for each of data_keys"):
            container(*values)
    with pytest.raises(TypeError, match="input"):
        container()
    with pytest.raises(ValueError, match="before"):
        container.inverse(image, mask)
    with pytest.raises(TypeError, match="generatr"):
        container(image, mask, generatr=1)
    for wrong in (K.RandomHorizontalFlip, "flip"):
        with pytest.raises(TypeError, match="args"):
            K.AugmentationSequential(wrong)
    for option, value in (("random_apply", -1), ("transformation_matrix_mode", "loud"), ("data_keys", ["imgae"])):
        with pytest.raises(ValueError, match=f"{option}.*{value if option != 'data_keys' else 'imgae'}"):
            K.AugmentationSequential(K.RandomHorizontalFlip(), **{option: value})
    for args in ({"mask": {"fil": 1}}, {"keypoints": {"resample": "nearest"}}):
        with pytest.raises(TypeError, match="extra_args"):
            K.AugmentationSequential(extra_args=args)


def test_bad_params() -> None:
    container, values = nest(), sample()
    output = container(*values)
    params = container._params
    foreign = [*params, K.ParamItem("Stranger_3", {})]
    inner = [params[0], K.ParamItem(params[1].name, params[1].data[:1]), params[2]]
    lacking = [*params[:2], K.ParamItem(params[2].name, {k: v for k, v in params[2].data.items() if k != "xs"})]
    for wrong in (params[:2], params[::-1], foreign, inner, []):
        for call in (container, container.inverse):
            with pytest.raises(ValueError, match="params: expected items for"):
                call(*values, params=wrong)
    for wrong in ({"a": 1}, [1, 2, 3], 5):
        with pytest.raises(TypeError, match="params"):
            container(*values, params=wrong)
    with pytest.raises(ValueError, match="RandomErasing: params.*missing.*xs"):
        container(*values, params=lacking)
    with pytest.raises(ValueError, match="batch_prob"):
        container(*sample(2), params=params)
    with pytest.raises(ValueError, match="keypoints: expected 3 rows"):
        container(values[5][:2], data_keys=["keypoints"], params=params)
    with pytest.raises(ValueError, match="image: expected 3 rows"):
        container.inverse(output[0][:2], data_keys=["image"])


# -------------------------------------------------------------------------------------------------- draws and replay


def renest(items: list[K.ParamItem], container: K.AugmentationSequential) -> list[K.ParamItem]:
    """Hand the params of a flat container to a nested one."""
    found = []
    for name, child in container.named_children():
        nested = isinstance(child, K.AugmentationSequential)
        found.append(K.ParamItem(name, renest(items, child) if nested else items.pop(0).data))
    return found


def test_nesting_changes_nothing() -> None:
    other, values = nest(), sample()
    flat = K.AugmentationSequential(
        *(m for m in nest().modules() if isinstance(m, K.AugmentationBase2D)), data_keys=KEYS
    )
    for seed in range(5):
        expected = call_seeded(flat, *values, seed=seed)
        assert same(other(*values, params=renest(list(flat._params), other)), expected)
        assert same(call_seeded(other, *values, seed=seed), expected)  # the draws come in the same order
        product = torch.eye(3)
        for op in other.modules():
            product = op.transform_matrix @ product if isinstance(op, K.GeometricAugmentationBase2D) else product
        assert_close(other.transform_matrix, product)
        assert_close(flat.transform_matrix, product)
        points = torch.nn.functional.pad(values[5], (0, 1), value=1.0) @ product.mT
        assert_close(expected[5], points[..., :2], atol=1e-4, rtol=0)


def test_replay() -> None:
    container, values = nest(), sample()
    output = container(*values)
    params = container._params
    file = io.BytesIO()
    torch.save(params, file)
    file.seek(0)
    loaded = torch.load(file)
    for replayed in (params, loaded, pickle.loads(pickle.dumps(params))):
        assert same(container(*values, params=replayed), output)
        assert same(nest()(*values, params=replayed), output)
    assert params[2].data["forward_input_shape"].tolist() == [B, 3, 10, 12]  # drawn for what comes out before
    drawn = call_seeded(container.forward_parameters, values[0].shape)
    assert same(container(*values, params=drawn), call_seeded(container, *values))
    # without an image the size comes from a mask, or from params
    assert same(container(*values[2:6], data_keys=KEYS[2:6], params=params), output[2:6])
    assert torch.equal(container(values[1], data_keys=["mask"], params=params), output[1])
    assert container(values[1], data_keys=["mask"]).shape == (B, 1, 10, 12)
    with pytest.raises(ValueError, match="expected an image or a mask, or params"):
        container(values[2], data_keys=["bbox_xyxy"])


def test_inverse() -> None:
    crop = K.RandomCrop((10, 12))
    inner = K.AugmentationSequential(K.RandomBrightness(0.2), crop)
    container = K.AugmentationSequential(K.RandomHorizontalFlip(), inner, data_keys=KEYS)
    values = sample()
    output = container(*values)
    back = container.inverse(*output)
    for new, old in zip(back[2:], values[2:], strict=True):
        assert_close(new, old, atol=1e-4, rtol=0)
    kept = container.inverse(torch.ones_like(output[1]), data_keys=["mask"]) == 1
    assert kept.sum() == B * 10 * 12
    assert torch.equal(back[1], torch.where(kept, values[1], 0))
    named = {"mask": output[1], "id": 4, "keypoints": output[5]}
    for other in (container, copy.deepcopy(container)):
        by_name = other.inverse(named, params=container._params)
        assert list(by_name) == ["mask", "id", "keypoints"] and torch.equal(by_name["mask"], back[1])


def test_same_on_batch() -> None:
    image, mask, boxes = (v[:1].expand(6, *v.shape[1:]) for v in sample()[:3])
    for flag in (True, False):
        container = nest(same_on_batch=flag)
        outputs = [call_seeded(container, image, mask, boxes, seed=s, data_keys=KEYS[:3]) for s in range(4)]
        equal = [bool((value == value[:1]).all()) for output in outputs for value in output]
        assert all(equal) if flag else not any(equal)
    op = K.RandomHorizontalFlip(same_on_batch=True)
    K.AugmentationSequential(op)
    assert op.same_on_batch  # None leaves it


def test_generator() -> None:
    container, values = nest(), sample()
    container.generator = torch.Generator().manual_seed(5)
    state = torch.get_rng_state()
    first, second = container(*values), container(*values)
    assert torch.equal(state, torch.get_rng_state()) and not same(first[:1], second[:1])
    container.generator = torch.Generator().manual_seed(5)
    torch.manual_seed(99)
    assert same(container(*values), first)
    container.generator = None
    assert same(container(*values, generator=torch.Generator().manual_seed(5)), first)
    assert container.generator is None


def test_hygiene() -> None:
    container, values = nest(), sample()
    container.generator = torch.Generator().manual_seed(3)
    for _ in range(2):  # before a call and after one
        for other in (copy.deepcopy(container), pickle.loads(pickle.dumps(container))):
            assert same(other(*values), copy.deepcopy(container)(*values))
        assert container.state_dict() == {}
        container(*values)


# ------------------------------------------------------------------------------------------------------------- options


def test_matrix_of_deformations_and_options() -> None:
    ops = [K.RandomHorizontalFlip(p=1.0), K.RandomElasticTransform(p=1.0)]
    silent, skip, rigid = (
        K.AugmentationSequential(*ops, transformation_matrix_mode=mode) for mode in ("silent", "skip", "rigid")
    )
    for container in (silent, skip, rigid):
        container(picture(2))
    assert torch.equal(silent.transform_matrix, ops[0].transform_matrix)
    assert skip.transform_matrix is None
    with pytest.raises(ValueError, match="transform_matrix"):
        _ = rigid.transform_matrix
    # the flags of a call hold for everything that is read after it
    edges = K.AugmentationSequential(K.Resize((6, 8)), extra_args={"image": {"align_corners": False}})
    points = torch.tensor([[[3.0, 1.0]]])
    output = edges(picture(1, 1, (H, W)), points, data_keys=["image", "keypoints"])
    assert_close(output[1], torch.tensor([[[1.25, 0.25]]]))  # (x + 1/2) / 2 - 1/2
    assert_close(edges.transform_matrix[0, 0], torch.tensor([0.5, 0.0, -0.25]))
    assert_close(edges.inverse(*output, data_keys=["image", "keypoints"])[1], points)


def test_nested_options() -> None:
    inner, outer = {"mask": {"resample": "bilinear"}}, {"mask": {"fill": 5}}
    turn = K.AugmentationSequential(K.RandomRotation((30.0, 30.0), p=1.0), extra_args=inner)
    container = K.AugmentationSequential(turn, K.RandomRotation((10.0, 10.0), p=1.0), extra_args=outer)
    image, mask = sample()[:2]
    _, output = container(image, (mask > 2).float(), data_keys=["image", "mask"])
    assert ((output > 0.1) & (output < 0.9)).any() and (output[..., 0, 0] == 5).all()


# ------------------------------------------------------------------------------------------------------------ compiled


def close(a: Any, b: Any) -> None:
    """Compare outputs; rounding may bring an integer, or a pixel of a mask, to the other side of a border."""
    for x, y in zip(a, b, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        if x.is_floating_point():
            assert_close(x, y, atol=2e-4, rtol=1e-4)
        else:
            assert (x != y).sum() <= 0.01 * x.numel()


PIPELINES: Mapping[str, Callable[[], list[nn.Module]]] = {
    "warps": lambda: [
        K.RandomHorizontalFlip(),
        K.RandomAffine(20.0, (0.1, 0.1)),
        K.RandomPerspective(0.3),
        K.RandomElasticTransform((5, 5), (2.0, 2.0), (0.3, 0.3)),
        K.RandomCrop((10, 12), padding=1, p=0.5),
    ],
    "colours": lambda: [
        K.RandomResizedCrop((9, 11), p=0.5),
        K.ColorJitter(0.2, 0.2, 0.2, 0.1, p=0.5),
        K.RandomGaussianNoise(),
        K.RandomErasing(),
        K.Normalize(0.5, 0.25),
    ],
    "nested": lambda: [nest(), nn.ReLU(), K.Resize((9, 7))],
}


@pytest.mark.parametrize(
    ("name", "kind", "n"),
    [
        ("warps", "positional", 2),
        ("warps", "dict", 0),
        ("warps", "bytes", 2),
        ("colours", "bytes", 0),
        ("colours", "dict", 2),
        ("nested", "generator", 2),
        ("nested", "dict", 0),
    ],
)
def test_dynamo_container(name: str, kind: str, n: int, optimizer: str) -> None:
    container = K.AugmentationSequential(*PIPELINES[name](), data_keys=KEYS)
    values = sample(4, n, torch.uint8 if kind == "bytes" else torch.float32)
    inputs = [dict(zip(KEYS, values, strict=True)) | {"id": 3}] if kind == "dict" else values
    compiled = torch.compile(container, fullgraph=True, backend=optimizer)
    container.generator = torch.Generator() if kind == "generator" else None

    def call(fn: Callable[..., Any], seed: int) -> list[Tensor]:
        if kind == "generator":
            container.generator.manual_seed(seed)
        output = call_seeded(fn, *inputs, seed=0 if kind == "generator" else seed)
        assert kind != "dict" or output.pop("id") == 3
        return list(output.values()) if kind == "dict" else output

    for seed in range(3):
        output = call(compiled, seed)
        params = container._params
        close(output, call(container, seed))
        assert_params_close(params, container._params)
        assert not any(shares(a, b) for a, b in zip(output, values, strict=True))
        assert graphs() == 1
