"""What several test files need."""

import io
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from PIL import Image, ImageChops, ImageStat
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import augment as K
from augment.kinds.augmentation import Augmentation
from augment.testing import Case, cases

CASES = cases()
SIZE = (17, 23)
SAME_SHAPE = [case for case in CASES if case().output_size(SIZE) == SIZE]
GEOMETRIC = [case for case in CASES if case.geometric]
LABELS = ["image", "mask", "bbox_xyxy", "bbox_xywh", "bbox", "keypoints"]


def picture(b: int = 3, c: int = 3, size: tuple[int, int] = SIZE, dtype: torch.dtype = torch.float32) -> Tensor:
    """Give images in [0, 1] in which no two pixels are equal; uint8 ones hold every level."""
    image = torch.rand(b, c, *size, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return (image * 255).round().to(dtype) if dtype == torch.uint8 else image.to(dtype)


def ramp(*shape: int) -> Tensor:
    """Count the pixels."""
    return torch.arange(math.prod(shape), dtype=torch.float32).view(shape)


def labels(b: int, n: int, size: tuple[int, int]) -> list[Tensor]:
    """Give a value for each of LABELS."""
    points = torch.rand(b, n, 2) * torch.tensor([size[1] - 1.0, size[0] - 1.0])
    corners = torch.rand(b, n, 4, 2) * 6
    mask = torch.randint(9, (b, 4, *size))
    return [picture(b, 3, size), mask, torch.cat([points, points + 3], -1), torch.rand(b, n, 4) * 6, corners, points]


def seq(*ops: nn.Module, keys: str = "image", **options: Any) -> K.AugmentationSequential:
    """Build a container for keys that are written with blanks between them."""
    return K.AugmentationSequential(*ops, data_keys=keys.split(), **options)


def with_gate(op: Augmentation, shape: Any, gate: list[int]) -> dict[str, Tensor]:
    """Draw parameters for all rows, and open the gate of some."""
    p, op.p = op.p, 1.0
    params = op.forward_parameters(shape)
    op.p = p
    params["batch_prob"] = torch.tensor(gate, dtype=torch.float32)
    return params


def distance(one: Image.Image, other: Image.Image) -> float:
    """Give the mean difference of two pictures, in 0..255."""
    return sum(ImageStat.Stat(ImageChops.difference(one, other)).mean) / 3


def graphs() -> int:
    """Count the graphs compiled since the last reset."""
    return counters["stats"]["unique_graphs"]


def assert_params_close(a: Any, b: Any) -> None:
    """Require params, nested or not, to be equal to 1e-6."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_close(a[key], b[key], atol=1e-6, rtol=1e-6)
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_params_close(x, y)
    else:
        assert a == b


def centres(blob: Tensor) -> Tensor:
    """Give the centroids (B, 2) of bright blobs (B, 1, h, w)."""
    weights = (blob - blob.amin((1, 2, 3), keepdim=True))[:, 0]
    u, v = torch.arange(1.0 * blob.shape[-1]), torch.arange(1.0 * blob.shape[-2]).unsqueeze(1)
    moments = torch.stack([(weights * u).sum((1, 2)), (weights * v).sum((1, 2))], -1)
    return moments / weights.sum((1, 2)).unsqueeze(-1)


def assert_labels_follow(container: Any, seed: int, rows: int = 2, reach: float = 0.25) -> None:
    """Require mask, keypoint, box and matrix to be where a blob (B, 1, 40, 56) is, an exact replay, and a way back.

    The keys of the container are image, mask, keypoints, bbox_xyxy.
    """
    x, y = torch.arange(56.0), torch.arange(40.0).unsqueeze(1)
    points = torch.tensor([[[27.0, 19.0]], [[29.3, 20.6]], [[26.4, 21.0]], [[28.0, 18.5]]])[:rows]
    squared = (x - points[..., :1]) ** 2 + (y - points[..., 1:]) ** 2
    image = (-squared / 8).exp().unsqueeze(1)
    given = [image, (squared < 9).long(), points, torch.cat([points - 6, points + 6], -1)]
    blob, disc, moved, box = output = call_seeded(container, *given, seed=seed)
    h, w = blob.shape[-2:]
    if container.transform_matrix is not None:
        ahead = torch.nn.functional.pad(points, (0, 1), value=1.0) @ container.transform_matrix.mT
        assert_close(moved, ahead[..., :2], atol=1e-3, rtol=0)
    inside = (box[:, 0] >= 0).all(1) & (box[:, 0, 2] <= w) & (box[:, 0, 3] <= h)
    assert_close(centres(blob)[inside], moved[inside, 0], atol=reach, rtol=0)
    for i in inside.nonzero().flatten().tolist():
        column, row = (round(c) for c in moved[i, 0].tolist())
        assert disc[i, row, column] == 1
    params = container._params
    replayed = container(*given, params=params)
    assert all(torch.equal(new, old) for new, old in zip(replayed, output, strict=True))
    lists = container(image, *map(list, given[1:]), params=params)
    for entries, batch in zip(lists[1:], output[1:], strict=True):
        assert_close(torch.stack(entries), batch, atol=1e-5, rtol=0)
    back = container.inverse(*output, params=params)
    assert back[0].shape == image.shape and back[1].shape == given[1].shape
    assert_close(back[2], points, atol=1e-2, rtol=0)
    assert_close(centres(back[0])[inside], points[inside, 0], atol=reach, rtol=0)
    upright = given[3].flatten(1)
    enclosing = torch.cat([back[3][..., :2] - 1e-2, -back[3][..., 2:] - 1e-2], -1).flatten(1)
    assert (enclosing <= torch.cat([upright[:, :2], -upright[:, 2:]], -1)).all()


class ByTwo:
    """Show pairs of rows as clips of two frames."""

    def __init__(self, video: nn.Module) -> None:
        self.video = video

    def __getattr__(self, name: str) -> Any:
        return getattr(self.video, name)

    def __call__(self, *args: Any, call: Any = None, **kwargs: Any) -> list[Any]:
        clips = [
            [torch.stack(arg[i : i + 2]) for i in range(0, len(arg), 2)]
            if isinstance(arg, list)
            else arg.unflatten(0, (-1, 2))
            for arg in args
        ]
        output = (call or self.video)(*clips, **kwargs)
        return [[f for c in o for f in c.unbind(0)] if isinstance(o, list) else o.flatten(0, 1) for o in output]

    def inverse(self, *args: Any, **kwargs: Any) -> list[Any]:
        return self(*args, call=self.video.inverse, **kwargs)


def call_seeded(op: Callable[..., Any], *args: Any, seed: int = 7, **kwargs: Any) -> Any:
    """Call with the default generator seeded."""
    torch.manual_seed(seed)
    return op(*args, **kwargs)


def saved(params: Any) -> Any:
    """Save parameters and load them again."""
    file = io.BytesIO()
    torch.save(params, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


__all__ = [
    "CASES",
    "GEOMETRIC",
    "LABELS",
    "SAME_SHAPE",
    "SIZE",
    "ByTwo",
    "Case",
    "assert_labels_follow",
    "assert_params_close",
    "call_seeded",
    "centres",
    "distance",
    "graphs",
    "labels",
    "picture",
    "ramp",
    "saved",
    "seq",
    "with_gate",
]


class Log(TorchDispatchMode):
    """Count what is dispatched: all of it, what makes tensors of at least some elements, and copies to a GPU."""

    def __init__(self, large: int = 1) -> None:
        super().__init__()
        self.calls, self.large, self.copied = 0, Counter(), Counter()
        self.least = large

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        before, after = ([v for v in tree_leaves(values) if isinstance(v, Tensor)] for values in (args, output))
        self.calls += 1
        known = {v.untyped_storage()._cdata for v in before}
        self.large[str(func)] += any(v.numel() >= self.least and v.untyped_storage()._cdata not in known for v in after)
        here = any(v.is_cpu for v in before)
        self.copied[str(func)] += here and "copy" in str(func) and any(v.is_cuda for v in after)
        return output
