"""The opaque ops: torch's own checks of them, and their gradients."""

import pytest
import torch

from augment import kernels as native
from augment.common import opaque
from augment.kernels.blur import maths as filters
from augment.sampling import draw
from tests.support.helpers import picture
from tests.support.opaque import (
    FACTORS,
    FIELD,
    FLIPS,
    GATE,
    HOLES,
    LENS,
    LINES,
    MOTIONS,
    ORDER,
    PLATE,
    ROTATIONS,
    SCALES,
    TABLES,
    WEIGHTS,
    B,
)

IDENTITIES = torch.eye(3).expand(B, 3, 3)
NOISE = torch.randn(B, 3, 17, 23, generator=torch.Generator().manual_seed(4))
SOURCES = torch.tensor([[0.0, 1, 2], [2, 0, 1], [0, 2, 1]])
OPEN = GATE > 0
STEPS = (torch.tensor([[0, 0], [5, 6], [3, 12]]), torch.tensor([[0.0, 0], [20, 0.3], [4, 0.4]]))
MOVES = torch.stack([ROTATIONS, IDENTITIES], 1)
DTYPES = dict.fromkeys(("recolour_bytes", "erase_bytes"), torch.uint8)
NAMES = {"colour_jiggle": "colour_jitter", "recolour_bytes": "recolour", "erase_bytes": "erase"}
AFTER = torch.tensor([[1.0, 1, 1, 0, 0, 0], [2.0, 1, 0.5, 0.1, 0, -0.2], [1.0, 1, 1, 0, 0, 0]])
CALLS = {
    "warp_homography": (ROTATIONS, 17, 23, 0, 0, [0.5], False, True),
    "warp_homography_nearest": (ROTATIONS, 12, 14, 0, [0.0], True),
    "permute": (FLIPS, 17, 23, "constant", [0.0]),
    "displace_by": (LENS, "fisheye", 0, 0, [0.0]),
    "displace_by_nearest": (PLATE, "thin_plate", 2, [0.0]),
    "displace_lines": (LINES, 0, 0, [0.5]),
    "displace_lines_nearest": (LINES, 1, [0.0]),
    "fill_rectangles": (HOLES, [0.5]),
    "fill_grid": (
        torch.tensor([[[5.0, 0, 0], [5, 0, 0]], [[6, 3, 2], [6, 3, 5]], [[9, 4, 8], [4.5, 2, 0]]]),
        [0.5],
    ),
    "add_noise": (OPEN, NOISE),
    "shot_noise": (torch.tensor([0.0, 12.0, 60.0]), NOISE),
    "sensor_noise": (torch.tensor([0.0, 0.3, 0.5]), torch.tensor([0.1, 0.1, 0.02]), NOISE[:, :2]),
    "salt_and_pepper": (OPEN, NOISE > 1, NOISE < -1),
    "erase": (torch.tensor([[2.0, 3, 9, 8], [0, 0, 0, 0], [5, 5, 23, 17]]), torch.tensor([0.3, 0.5, 0.7])),
    "erase_bytes": (torch.tensor([[2.0, 3, 9, 8], [0, 0, 0, 0], [5, 5, 23, 17]]), torch.tensor([3.0, 5, 7])),
    "rain": (*(torch.tensor(n) for n in ([2, 0, 3], [4, 5, 2], [-2, 3, 0])), torch.rand(B, 3, 2), 5),
    "displace": (FIELD, 0, 1, [0.0]),
    "displace_nearest": (FIELD, 2, [0.0]),
    "separable_filter": (WEIGHTS, WEIGHTS, "reflect"),
    "colour_jitter": (FACTORS, ORDER.expand(B, 4), AFTER.view(B, 3, 2), "jitter"),
    "colour_jiggle": (FACTORS, ORDER.expand(B, 4), AFTER[:, :0].view(B, 3, 0), "jiggle"),
    "recolour": (torch.tensor([[0.0, 1, 0.1, 0.5], [1, 0.5, 0.2, 0], [1, 2, -0.2, 1]]), [2, 1, 1, 1, 3]),
    "recolour_bytes": (torch.tensor([[1.0, 0.1], [0.5, 0.2], [2, -0.2]]), [1, 1, 1, 1, 1]),
    "take_channels": (SOURCES.long(),),
    "fill_channels": (torch.tensor([[False, False, False], [True, False, True], [False, True, False]]), 0.5),
    "equalize": (OPEN,),
    "gamma": (torch.tensor([1.0, 0.6, 2.2]), torch.tensor([1.0, 1.1, 0.9])),
    "equalize_tiles": (OPEN, torch.tensor([40.0, 1.0, 2.0]), 2, 3),
    "box_blur": (OPEN, 4, 3, "reflect"),
    "median_blur": (OPEN, 3, 5),
    "sharpen": (FACTORS[:, 0].contiguous(),),
    "filter2d": (MOTIONS, "replicate"),
    "defocus": (torch.tensor([0.0, 2.0, 9.0]), torch.tensor([0.0, 0.3, 0.5]), 9, "replicate"),
    "zoom_blur": (torch.tensor([1.0, 1.2, 1.6]), 4),
    "jpeg": (OPEN, TABLES),
    "policy": (*STEPS, MOVES, "nearest", [0.0]),
    "policies": (torch.tensor([[0.2, 0.3, 0.5]] * 3), *(s.unsqueeze(2) for s in (*STEPS, MOVES)), "bilinear", [0.5]),
    "downscale": (SCALES, "area", "bilinear"),
    "downscale_nearest": (SCALES,),
}


@pytest.mark.parametrize("name", CALLS)
def test_opcheck_rowwise(name: str) -> None:
    op = getattr(torch.ops.augment, NAMES.get(name, name)).default
    image, *args = picture(B, dtype=DTYPES.get(name, torch.float32)), *CALLS[name]
    torch.library.opcheck(op, (image, *args))
    if not image.is_floating_point():
        return
    image.requires_grad_()
    torch.library.opcheck(op, (image, *args))
    tensors = sum(isinstance(arg, torch.Tensor) for arg in args)
    params, config = args[:tensors], args[tensors:]
    learns = [p.is_floating_point() for p in params]
    wanted = [p.clone().requires_grad_(learn) for p, learn in zip(params, learns, strict=True)]
    torch.library.opcheck(op, (image, *wanted, *config))
    backward = getattr(torch.ops.augment, f"{NAMES.get(name, name)}_backward").default
    with torch.no_grad():
        gradient = torch.rand_like(op(image, *args))
    asked = [True, *learns] if "bool[] learns" in str(backward._schema) else True
    torch.library.opcheck(backward, (gradient, image.detach(), *params, asked, *config))


def test_constants_are_kept_and_not_shared() -> None:
    constant = torch.ops.augment.constant.default
    values, cpu = [0.5, 2.0, -1.0], torch.device("cpu")
    for dtype in (torch.float64, torch.int64):
        torch.library.opcheck(constant, (values, dtype, cpu))
        constant(values, dtype, cpu).zero_()
        assert torch.equal(constant(values, dtype, cpu), torch.tensor(values).to(dtype))


def test_opcheck_others() -> None:
    device = torch.device("cpu")
    gate = GATE > 0
    names = ("test_schema", "test_faketensor")
    torch.library.opcheck(draw.uniform, ([3, 2], device, 0, []), test_utils=names)
    torch.library.opcheck(draw.noise, (gate, [2, 5], True, 0.0, 1.0, 0, [FIELD]), test_utils=names)
    torch.library.opcheck(draw.noise, (gate, [2, 5], False, -1.0, 1.0, 0, []), test_utils=names)
    torch.library.opcheck(native.salt_masks, (NOISE[:, :1], GATE, GATE - 1))
    along = [filters.gaussian_matrix(n, 5, torch.tensor(2.0)) for n in (17, 23)]
    torch.library.opcheck(native.smooth_field, (FIELD, *along, gate))
    torch.library.opcheck(torch.ops.augment.follow_field.default, (FIELD, torch.rand(B, 4, 2) * 15, 5))
    torch.library.opcheck(torch.ops.augment.log_gamma_quantile.default, (torch.rand(B, 4), 0.5))
    torch.library.opcheck(torch.ops.augment.follow_formula.default, (LENS, torch.rand(B, 4, 2) * 15, "fisheye", 5))


@pytest.mark.parametrize(
    "name",
    [
        "warp_homography",
        "displace",
        "displace_by",
        "displace_lines",
        "separable_filter",
        "colour_jitter",
        "sharpen",
        "filter2d",
        "defocus",
        "zoom_blur",
        "shot_noise",
        "jpeg",
    ],
)
def test_gradient_reaches_params(name: str) -> None:
    op = getattr(torch.ops.augment, name).default
    params = [arg[1:] for arg in CALLS[name] if isinstance(arg, torch.Tensor)]
    config = [arg for arg in CALLS[name] if not isinstance(arg, torch.Tensor)]
    image = picture(2, size=(6, 7), dtype=torch.float64) * 0.6 + 0.2
    if name in ("displace", "shot_noise"):
        params[-1] = params[-1][..., :6, :7]
    config = [{17: 6, 23: 7}.get(c, c) if isinstance(c, int) and not isinstance(c, bool) else c for c in config]
    if name == "colour_jitter":  # where no step is at the end of its range
        params[0] = torch.tensor([[1.05, 0.95, 0.9, 0.02], [0.95, 1.03, 1.04, -0.03]])
    wanted = [p.double().requires_grad_() if p.is_floating_point() else p for p in params]
    assert torch.autograd.gradcheck(lambda *p: op(image, *p, *config), wanted, atol=1e-3, eps=1e-7)


def test_learnable_bounds_get_a_gradient() -> None:
    import augment as K

    image = picture(4) * 0.5 + 0.2
    for build in (
        lambda bound: K.ColorJitter(brightness=bound, p=1.0),
        lambda bound: K.ColorJitter(brightness=bound, p=1.0, order=(0, 1)),
        lambda bound: K.RandomBrightness(bound, p=1.0),
        lambda bound: K.RandomGaussianBlur(3, bound, p=1.0),
    ):
        bound = torch.nn.Parameter(torch.tensor([0.7, 1.1]))
        build(bound)(image).sum().backward()
        assert bound.grad is not None and bound.grad.isfinite().all() and bound.grad.abs().sum() > 0
    for build in (lambda bound: K.RandomRotation(bound, p=1.0), lambda bound: K.RandomAffine(bound, p=1.0)):
        bound = torch.nn.Parameter(torch.zeros(()))  # a range that starts empty has to be able to grow
        (build(bound)(image) * torch.rand(image.shape)).sum().backward()
        assert bound.grad is not None and bound.grad.abs() > 0


@pytest.mark.parametrize("known", [True, False])
def test_backward_where_pytorch_makes_it_elsewhere(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opaque, "MAKES", known and opaque.MAKES)
    op = opaque.define(f"doubled_{known}", "(Tensor image) -> Tensor", lambda image: image * 2, torch.empty_like)
    opaque.differentiate(op, lambda ctx, gradient: gradient * 2)
    image = torch.rand(3, requires_grad=True)
    op(image).sum().backward()
    assert image.grad is not None and image.grad.tolist() == [2.0, 2.0, 2.0]
    torch.library.opcheck(op, (image,))
