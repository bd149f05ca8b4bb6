"""The opaque ops: torch's own checks of them, and the same maths on a whole batch, as other devices run it."""

import pytest
import torch
from helpers import picture
from torch.testing import assert_close

from augment import kernels as native
from augment.common import opaque, vocabulary
from augment.common.dtypes import load, store
from augment.kernels.blur import maths as filters
from augment.kernels.blur import maths as zoom
from augment.kernels.blur import median
from augment.kernels.colour import maths as colour
from augment.kernels.compression import downscale, jpeg
from augment.kernels.dropout import maths as dropout
from augment.kernels.field import maths as fields
from augment.kernels.histogram import maths as histogram
from augment.kernels.warp import maths as resample
from augment.kernels.warp import matrices as geometry
from augment.sampling import draw

B = 3
ANGLES = torch.tensor([0.0, 20.0, -75.0])
ROTATIONS = geometry.invert(geometry.rotation(ANGLES, 11.0, 8.0))
FLIPS = geometry.invert(
    geometry.scaling(
        torch.tensor([-1.0, 1.0, 1.0]),
        torch.tensor([1.0, -1.0, 1.0]),
        torch.tensor([22.0, 0.0, 0.0]),
        torch.tensor([0.0, 16.0, 0.0]),
        ANGLES,
    )
)
IDENTITIES = torch.eye(3).expand(B, 3, 3)
FIELD = torch.randn(B, 2, 17, 23, generator=torch.Generator().manual_seed(2)) * torch.tensor([0.0, 1.0, 3.0]).view(
    3, 1, 1, 1
)
WEIGHTS = filters.gaussian_weights(torch.tensor([0.0, 0.8, 2.0]), 5)
FACTORS = torch.tensor([[1.0, 1, 1, 0], [0.8, 1.3, 0.5, 0.2], [1.4, 0.7, 1.6, -0.4]])
ORDER = torch.tensor([2, 0, 3, 1])
NOISE = torch.randn(B, 3, 17, 23, generator=torch.Generator().manual_seed(4))
GATE = torch.tensor([1.0, 0.0, 1.0])
SIZES = torch.tensor([1, 3, 5], dtype=torch.int32)
MOTIONS = filters.motion_weights(SIZES, ANGLES, torch.tensor([0.0, 0.5, -1.0]), 5, "bilinear")
TABLES = jpeg.quantization_tables(torch.tensor([30.0, 50.0, 80.0]))
SCALES = torch.tensor([1.0, 0.3, 0.75])

POINTS = torch.rand(1, 5, 2, generator=torch.Generator().manual_seed(3)) * 2 - 1
MOVES = torch.tensor([[0.0] * 5, [0.1] * 5, [0.3, -0.2, 0.1, 0.0, 0.2]]).unsqueeze(2)
PLATE = fields.plate_params(
    POINTS.expand(B, -1, -1), fields.plate_weights(POINTS, POINTS + MOVES), (0.1, 0.2), (-1.0, -1.5), (11.0, 8.0)
)
LENS = torch.tensor([[0.0] * 8, [1, 9.3, 8.1, 0.9, 11, 8, 1 / 11, 1 / 8], [1, 14.2, 6.6, 1.5, 11, 8, 1 / 11, 1 / 8]])
EVEN = torch.tensor([-0.5, 7.0, 15.0, 22.5]).expand(B, 2, 4)
LINES = torch.stack([EVEN, EVEN + torch.tensor([[[0.0] * 4]] * 2 + [[[0, 2.0, -1, 0]]])], 2)[[0, 2, 2]]
LINES[1, 1, 1] += 0.7
HOLES = torch.tensor([[[0.0, 0, 0, 5]] * 2, [[3, 4, 5, 6], [5, 1, 3, 9]], [[20, 0, 3, 17], [0, 0, 0, 0]]])
SOURCES = torch.tensor([[0.0, 1, 2], [2, 0, 1], [0, 2, 1]])
STEPS = torch.cat(
    [
        torch.tensor([[[0.0, 0], [0, 0]], [[5, 20], [6, 0.3]], [[3, 4], [12, 0.4]]]),
        torch.stack([ROTATIONS, IDENTITIES], 1).flatten(2),
    ],
    2,
)
MIXTURES = torch.cat([torch.tensor([[0.2, 0.3, 0.5]] * 3), STEPS.flatten(1)], 1)
BYTES = ("gray_levels", "hue_levels", "linear_levels", "look_up", "saturation_levels", "stretch_levels")
DTYPES = dict.fromkeys((*BYTES, "look_up_floats", "colour_jitter_wide"), torch.uint8)
NAMES = dict.fromkeys(("colour_jiggle", "colour_jitter_wide"), "colour_jitter")
AFTER = torch.tensor([[1.0, 1, 1, 0, 0, 0], [2.0, 1, 0.5, 0.1, 0, -0.2], [1.0, 1, 1, 0, 0, 0]])

CALLS = {
    "warp_homography": (
        torch.cat([ROTATIONS, resample.normalised(ROTATIONS, 17, 23)], 1),
        17,
        23,
        0,
        0,
        [0.5],
        False,
        True,
    ),
    "warp_homography_nearest": (ROTATIONS, 12, 14, 0, [0.0], True),
    "permute": (FLIPS, 17, 23, "constant", [0.0]),
    "displace_by": (LENS, "fisheye", 0, 0, [0.0]),
    "displace_by_nearest": (PLATE, "thin_plate", 1, 2, [0.0]),
    "displace_lines": (LINES, 0, 0, [0.5]),
    "displace_lines_nearest": (LINES, 1, 1, [0.0]),
    "fill_rectangles": (HOLES, [0.5]),
    "fill_grid": (
        torch.tensor([[[5.0, 0, 0], [5, 0, 0]], [[6, 3, 2], [6, 3, 5]], [[9, 4, 8], [4.5, 2, 0]]]),
        [0.5],
    ),
    "add_noise": (GATE, NOISE),
    "shot_noise": (torch.tensor([0.0, 12.0, 60.0]), NOISE),
    "sensor_noise": (torch.tensor([[0.0, 0.1], [0.3, 0.1], [0.5, 0.02]]), NOISE[:, :2]),
    "salt_and_pepper": (GATE, NOISE > 1, NOISE < -1),
    "displace": (FIELD, 0, 1, [0.0]),
    "displace_nearest": (FIELD, 1, 2, [0.0]),
    "separable_filter": (torch.cat([WEIGHTS, WEIGHTS], 1), 5, "reflect"),
    "colour_jitter": (torch.cat([FACTORS, ORDER.expand(B, 4), AFTER], 1), "jitter", False),
    "colour_jitter_wide": (torch.cat([FACTORS, ORDER.expand(B, 4), AFTER], 1), "jitter", True),
    "colour_jiggle": (torch.cat([FACTORS, ORDER.expand(B, 4), AFTER], 1), "jiggle", True),
    "photometric_distort": (torch.cat([FACTORS, GATE.view(B, 1), SOURCES], 1), True),
    "gray_levels": (GATE, [0.3, 0.6, 0.1]),
    "hue_levels": (FACTORS[:, 3].contiguous(),),
    "saturation_levels": (FACTORS[:, 2].contiguous(),),
    "linear_levels": (torch.tensor([[[1.0, 0.0]] * 3, [[1, 20.4]] * 3, [[1.3, 0], [0.7, 0], [1, -3]]]),),
    "take_channels": (SOURCES,),
    "fill_channels": (torch.tensor([[0.0, 0, 0], [1, 0, 1], [0, 1, 0]]), 0.5),
    "equalize": (GATE,),
    "stretch_levels": (GATE,),
    "gamma": (torch.tensor([[1.0, 1.0], [0.6, 1.1], [2.2, 0.9]]),),
    "look_up_floats": (torch.rand(B, 3, 256, generator=torch.Generator().manual_seed(1)),),
    "look_up": (torch.rand(B, 3, 256, generator=torch.Generator().manual_seed(1)) * 255,),
    "clahe": (torch.stack([GATE, torch.tensor([40.0, 1.0, 2.0])], 1), 2, 3),
    "box_blur": (GATE, 4, 3, "reflect"),
    "median_blur": (GATE, 3, 5),
    "sharpen": (FACTORS[:, 0].contiguous(),),
    "filter2d": (MOTIONS, "replicate"),
    "defocus": (torch.tensor([[0.0, 0.0], [2.0, 0.3], [9.0, 0.5]]), "replicate"),
    "zoom_blur": (torch.tensor([1.0, 1.2, 1.6]), 4),
    "jpeg": (torch.cat([GATE.unsqueeze(1), TABLES.flatten(1)], 1),),
    "policy": (STEPS, 1, [0.0]),
    "policy_mixture": (MIXTURES, 2, 0, [0.5]),
    "downscale": (SCALES, "area", "bilinear"),
    "downscale_nearest": (SCALES, "nearest", "nearest"),
}


@pytest.mark.parametrize("name", CALLS)
def test_opcheck_rowwise(name: str) -> None:
    op = getattr(torch.ops.augment, NAMES.get(name, name)).default
    image, params, *config = picture(B, dtype=DTYPES.get(name, torch.float32)), *CALLS[name]
    torch.library.opcheck(op, (image, params, *config))
    if not image.is_floating_point():
        return
    image.requires_grad_()
    torch.library.opcheck(op, (image, params, *config))
    torch.library.opcheck(op, (image, params.clone().requires_grad_(), *config))
    backward = getattr(torch.ops.augment, f"{NAMES.get(name, name)}_backward").default
    with torch.no_grad():
        gradient = torch.rand_like(op(image, params, *config))
    torch.library.opcheck(backward, (gradient, image.detach(), params, True, *config))


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
    torch.library.opcheck(draw.normal_noise, (gate, [2, 5], 0.0, 1.0, 0, [FIELD]), test_utils=names)
    torch.library.opcheck(draw.uniform_noise, (gate, [2, 5], -1.0, 1.0, 0, []), test_utils=names)
    for bits in (torch.ops.augment.keep_bits.default, torch.ops.augment.flip_bits.default):
        torch.library.opcheck(bits, (picture(B, dtype=torch.uint8), GATE.view(B, 1, 1, 1).byte()))
    torch.library.opcheck(native.salt_masks, (NOISE[:, :1], GATE, GATE - 1))
    along = [filters.gaussian_matrix(n, 5, torch.tensor(2.0)) for n in (17, 23)]
    torch.library.opcheck(native.smooth_field, (FIELD, *along, gate))
    torch.library.opcheck(torch.ops.augment.follow_field.default, (FIELD, torch.rand(B, 4, 2) * 15, 5))
    torch.library.opcheck(torch.ops.augment.log_gamma_quantile.default, (torch.rand(B, 4), 0.5))
    torch.library.opcheck(torch.ops.augment.follow_formula.default, (LENS, torch.rand(B, 4, 2) * 15, "fisheye", 5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8])
@pytest.mark.parametrize("mode", resample.MODES)
@pytest.mark.parametrize("padding", resample.PADDINGS)
def test_warp_on_rows_is_warp_on_the_batch(mode: str, padding: str, dtype: torch.dtype) -> None:
    image = picture(B, dtype=dtype)
    scale = geometry.scaling(1.3, 0.7, -2.0, 1.5, ANGLES)  # a matrix that takes the separable way
    for matrix in (ROTATIONS, scale):
        for size in ((17, 23), (9, 30)):
            rows = native.warp_homography(image, matrix, size, mode, padding, [0.25], False)
            args = (*size, resample.MODES[mode], resample.PADDINGS[padding], [0.25], False)
            nearest = mode == "nearest"
            scaled = matrix if nearest else resample.normalised(matrix, 17, 23)
            whole = resample.homography(image if nearest else load(image), scaled, *args)
            whole = store(whole, dtype)
            assert_close(rows.double(), whole.double(), atol=1 if dtype == torch.uint8 else 3e-5, rtol=0)


def test_permute_on_rows_is_sampling_on_the_batch() -> None:
    image = picture(B)
    turned = geometry.matrix3([0, 1, 0, -1, 0, 22, 0, 0, 1], ANGLES)  # a quarter turn to (23, 17)
    shifted = geometry.translation(torch.tensor([-3.0, 4.0, 0.0]), torch.tensor([5.0, -2.0, 30.0]), ANGLES)
    for matrix, size in ((FLIPS, (17, 23)), (turned, (23, 17)), (shifted, (20, 9))):
        for border in ("constant", "reflect", "replicate", "circular"):
            rows = native.permute(image, matrix, size, border, [0.5])
            whole = resample.sample_nearest(
                image, resample.positions(geometry.invert(matrix), *size, False), border, [0.5]
            )
            assert torch.equal(rows, whole)
    quarter = native.permute(image, turned, (23, 17), "constant", [0.0])
    assert torch.equal(quarter, image.rot90(1, (2, 3)))


@pytest.mark.parametrize("mode", resample.MODES)
def test_displacement_on_rows_is_that_on_the_batch(mode: str) -> None:
    image = picture(B)
    rows = native.displace(image, FIELD, mode, "zeros", [0.0])
    assert_close(rows, resample.displacement(image, FIELD, resample.MODES[mode], 0, [0.0]), atol=1e-5, rtol=0)
    assert torch.equal(rows[0], image[0])


@pytest.mark.parametrize("mode", resample.MODES)
@pytest.mark.parametrize("name", fields.FORMULAS)
def test_formulas_on_rows_are_those_on_the_batch(name: str, mode: str) -> None:
    image, params = picture(B), {"fisheye": LENS, "thin_plate": PLATE}[name]
    rows = native.displace_by(image, params, name, mode, "border", [0.0])
    field = fields.FORMULAS[name](params, *resample.pixel_grid(17, 23, params))
    assert_close(rows, native.displace(image, field, mode, "border", [0.0]), atol=2e-5, rtol=0)
    assert_close(rows, resample.displacement(image, field, resample.MODES[mode], 1, [0.0]), atol=2e-5, rtol=0)
    assert torch.equal(rows[0], image[0])
    points = torch.rand(B, 9, 2) * 10 + 4
    x, y = points.round().long().unbind(2)
    taken = torch.stack([field[i, :, y[i], x[i]].T for i in range(B)])
    assert_close(fields.displacement_at(name, params, points.round()), taken, atol=1e-5, rtol=0)


@pytest.mark.parametrize("mode", resample.MODES)
@pytest.mark.parametrize("padding", resample.PADDINGS)
def test_lines_on_rows_are_those_on_the_batch(mode: str, padding: str) -> None:
    image = picture(B)
    rows = native.displace_lines(image, LINES, mode, padding, [0.25])
    field = native.field.formula.lines_field(LINES, 17, 23)
    args = (resample.MODES[mode], resample.PADDINGS[padding], [0.25])
    assert_close(rows, resample.displacement(image, field, *args), atol=2e-5, rtol=0)
    assert torch.equal(rows[0], image[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.int64, torch.bool])
def test_rectangles_on_rows_are_those_on_the_batch(dtype: torch.dtype) -> None:
    image = (picture(B) * 2).to(dtype)
    fill = [1.0, 0.0, 1.0]
    expected = torch.where(dropout.in_rectangles(HOLES, 17, 23), resample.per_channel(fill, image), image)
    assert torch.equal(native.fill_rectangles(image, HOLES, fill), expected)
    assert not torch.equal(expected[1:], image[1:])


@pytest.mark.parametrize("border", vocabulary.BORDERS)
def test_filter_on_rows_is_that_on_the_batch(border: str) -> None:
    image = picture(B)
    taps = [w.view(-1, 1, 1, 1) for w in WEIGHTS.unbind(1)]
    rows = native.separable_filter(image, WEIGHTS, WEIGHTS, border)
    assert_close(rows, filters.separable_filter(image, taps, taps, border), atol=1e-6, rtol=0)
    assert torch.equal(rows[0], image[0])


def test_jitter_on_rows_is_that_on_the_batch() -> None:
    image = picture(B)
    for order in (ORDER, torch.tensor([0, 1, 2, 3]), torch.tensor([3, 1])):
        rows = native.colour_jitter(image, FACTORS, order)
        assert_close(rows, colour.jitter_any_order(image, FACTORS, order), atol=1e-5, rtol=0)
        planes = [f.view(-1, 1, 1) for f in FACTORS.unbind(1)]
        assert_close(rows, torch.stack(colour.jitter(image.unbind(1), planes, order.tolist()), 1), atol=1e-5, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_equalize_on_rows_is_that_on_the_batch(dtype: torch.dtype) -> None:
    image = picture(B, dtype=dtype)
    image[0, 0] = 1
    assert torch.equal(native.equalize(image, torch.ones(B, dtype=torch.bool)), histogram.equalize_batch(image))


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
def test_blurs_on_rows_are_those_on_the_batch(dtype: torch.dtype) -> None:
    image = picture(B, dtype=dtype)
    work, gate = load(image), GATE > 0
    radius, sigma = torch.tensor([0, 2, 9]), torch.tensor([0.0, 0.3, 0.5])
    factor = torch.tensor([1.0, 1.2, 1.6])
    pairs = [
        (native.box_blur(image, gate, (4, 3), "reflect"), filters.box_blur(work, 4, 3, "reflect")),
        (native.median_blur(image, gate, (5, 3)), median.median_blur(work, 5, 3)),
        (native.filter2d(image, MOTIONS, "circular"), filters.filter2d_batch(work, MOTIONS, "circular")),
        (
            native.defocus(image, radius, sigma, 9, "replicate"),
            filters.filter2d_batch(work, filters.disk_weights(radius, sigma, 9), "replicate"),
        ),
        (native.zoom_blur(image, factor, 5), zoom.zoom_blur(work, factor, 5)),
    ]
    for rows, whole in pairs[:2]:
        assert_close(rows[gate], store(whole, dtype)[gate], atol=1e-6 if dtype == torch.float32 else 1, rtol=0)
        assert torch.equal(rows[1], image[1])
    for rows, whole in pairs[2:]:
        assert_close(rows, store(whole, dtype), atol=2e-6 if dtype == torch.float32 else 1, rtol=0)
        assert torch.equal(rows[0], image[0])


def test_compression_on_rows_is_that_on_the_batch() -> None:
    image = picture(B, dtype=torch.float64)
    whole = jpeg.jpeg(image * 255, TABLES.double()) / 255
    rows = native.jpeg(image, GATE > 0, TABLES.double())
    assert_close(rows[GATE > 0], whole[GATE > 0], atol=1e-9, rtol=0)
    assert torch.equal(rows[1], image[1])
    for down in vocabulary.DOWN:
        for up in vocabulary.UP:
            rows = native.downscale(image, SCALES, down, up)
            assert_close(rows, downscale.downscale(image, SCALES, down, up), atol=1e-6, rtol=0)


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
        "jpeg",
    ],
)
def test_gradient_reaches_params(name: str) -> None:
    op = getattr(torch.ops.augment, name).default
    params, *config = CALLS[name]
    image = picture(2, size=(6, 7), dtype=torch.float64) * 0.6 + 0.2
    params = params[1:].double()
    if name == "displace":
        params = params[..., :6, :7].contiguous()
    config = [{17: 6, 23: 7}.get(c, c) if isinstance(c, int) and not isinstance(c, bool) else c for c in config]
    if name == "colour_jitter":
        order = params[:, 4:]
        factors = torch.tensor(
            [[1.05, 0.95, 0.9, 0.02], [0.95, 1.03, 1.04, -0.03]], dtype=torch.float64
        ).requires_grad_()
        assert torch.autograd.gradcheck(lambda f: op(image, torch.cat([f, order], 1), *config), (factors,), atol=1e-4)
        return
    params = params.contiguous().requires_grad_()
    assert torch.autograd.gradcheck(lambda p: op(image, p, *config), (params,), atol=1e-3, eps=1e-7)


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
