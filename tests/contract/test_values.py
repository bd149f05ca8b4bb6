"""What users of batched augmentations reported in public about draws, values, dtypes and modules: a short test each.

Many more reports are held by property tests over all ops; here are those that need an example of their own."""

import pickle
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.data import DataLoader, Dataset

import augment as K
from augment.sampling.ranges import Range
from augment.testing import cases
from tests.support.helpers import CASES, LABELS, SAME_SHAPE, Case, call_seeded, labels, picture, seq

each = pytest.mark.parametrize("case", CASES, ids=repr)
SIZED = {"size": (7, 8)}


@each
def test_nothing_is_applied_at_p_zero(case: Case) -> None:
    """#859: a probability of zero holds for parameters that were drawn ahead, too."""
    op, image = case(p=0.0), picture()
    params = op.forward_parameters(image.shape)
    assert params["batch_prob"].eq(0).all()
    if case in SAME_SHAPE:
        assert torch.equal(op(image, params=params), image)


@pytest.mark.parametrize("case", cases(variants=False), ids=repr)
def test_ranges_are_kept_and_used(case: Case) -> None:
    """#494: each row has a draw of its own, within the bounds and near both of them."""
    op = case(p=1.0)
    params = op.forward_parameters((2000, 3, 40, 50))
    side = {"translate_x": 50, "translate_y": 40} if case.name == "RandomTranslate" else {}
    for name in op.ranges.keys() & params.keys():
        low, high = (float(limit) * side.get(name, 1) for limit in op.ranges[name].limits(torch.device("cpu")))
        drawn, slack = params[name].float(), 1e-5 * max(1.0, abs(low), abs(high))
        assert low - slack <= drawn.min() and drawn.max() <= high + slack
        assert drawn.max() - drawn.min() >= 0.95 * (high - low)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_shared_draws_are_drawn_once(case: Case) -> None:
    """#1664: with ``same_on_batch`` a batch of any size takes as much of the random stream as one row."""
    states = []
    for b in (1, 5):
        call_seeded(case(p=0.5, same_on_batch=True).forward_parameters, (b, 3, 40, 50))
        states.append(torch.get_rng_state())
    if getattr(case(same_on_batch=True), "same_on_batch", False):
        assert torch.equal(*states)


def test_streams_of_their_own() -> None:
    """#4407: an op with a generator draws the same whatever the ops before it draw."""
    drawn = []
    for p in (0.0, 0.5, 1.0):
        last = K.RandomAffine(30.0, p=1.0)
        last.generator = torch.Generator().manual_seed(3)
        seq(K.RandomHorizontalFlip(p=p), K.RandomGaussianNoise(p=p), last)(picture(4))
        drawn.append(last._params["angle"])
    assert torch.equal(drawn[0], drawn[1]) and torch.equal(drawn[0], drawn[2])


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
@each
def test_autocast(case: Case, p: float) -> None:
    """#1737, PR #1842, PR #2168, Lightning-AI/pytorch-lightning#13228: autocast changes neither shape nor dtype."""
    container, values = seq(case(p=p, **SIZED), keys=" ".join(LABELS)), labels(3, 2, (12, 16))
    expected = container(*values)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = container(*values, params=container._params)
    for a, b in zip(output, expected, strict=True):
        assert_close(a, b, atol=1e-6, rtol=1e-6)


class Dtypes(TorchDispatchMode):
    """Collect the dtypes of all that is computed."""

    seen: frozenset[torch.dtype] = frozenset()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        self.seen |= {value.dtype for value in tree_leaves(output) if isinstance(value, Tensor)}
        return output


@each
def test_nothing_is_computed_in_float64(case: Case) -> None:
    """PR #2425, #2775: some devices have no float64, and a float32 image needs none."""
    container, values = seq(case(p=0.5, **SIZED), keys=" ".join(LABELS)), labels(2, 2, (12, 16))
    with Dtypes() as dtypes:
        container(*values)
    assert torch.float32 in dtypes.seen and torch.float64 not in dtypes.seen


def test_any_number_of_channels() -> None:
    """PR #3853, #1028: gray of seven bands is their mean; one channel is gray, and has no saturation or hue."""
    bands, single = picture(2, 7), picture(2, 1)
    assert_close(K.RandomGrayscale(p=1.0)(bands), bands.mean(1, keepdim=True).expand_as(bands))
    assert_close(K.RandomGrayscale(p=1.0)(single), single)
    assert_close(K.ColorJitter(saturation=0.9, hue=0.5)(single), single)


@each
def test_normalised_images(case: Case) -> None:
    """#4430: an image in [-1, 1] comes out of no op as zeros."""
    output = case(p=1.0)(picture() * 2 - 1)
    assert (output != 0).flatten(1).float().mean(1).gt(0.2).all() and output.isfinite().all()


# What no value changes smoothly: counts, thresholds, and windows, holes, tables and lines of whole pixels.
WITHOUT_GRADIENT = {
    "RandomClahe": {"clip_limit_factor"},
    "RandomDownscale": {"scale"},
    "RandomErasing": {"scale", "ratio"},
    "RandomGaussianIllumination": {"sign"},
    "RandomGridDropout": {"ratio"},
    "RandomLinearCornerIllumination": {"sign"},
    "RandomLinearIllumination": {"sign"},
    "RandomMotionBlur": {"angle_factor"},
    "RandomPlasmaShadow": {"roughness", "shade_quantity"},
    "RandomPosterize": {"bits_factor"},
    "RandomRain": {"number_of_drops_factor", "drop_height_factor", "drop_width_factor"},
    "RandomResizedCrop": {"scale", "ratio"},
    "RandomSaltAndPepperNoise": {"amount_factor", "salt_and_pepper_factor"},
    "RandomSnow": {"snow_coefficient"},
    "RandomSolarize": {"thresholds"},
}


@pytest.mark.parametrize("case", [c for c in cases(variants=False) if c(p=1.0).ranges], ids=repr)
def test_ranges_learn(case: Case) -> None:
    """#673, #1671: every range that is a parameter gets a gradient, where the image changes smoothly with it."""
    torch.manual_seed(1)
    weight = torch.rand(4, 3, 1, 1)
    for name in case(p=1.0).ranges:
        bounds = case(p=1.0).ranges[name]
        op, (low, high) = case(p=1.0), (float(limit) for limit in bounds.limits(torch.device("cpu")))
        learned = nn.Parameter(torch.tensor([low + 0.2 * (high - low), high - 0.2 * (high - low)]))
        op.ranges = {**op.ranges, name: Range(learned, name, None, bounds.domain)}
        output = op(picture(4) * 0.6 + 0.2)
        if output.requires_grad:
            (output * weight).square().sum().backward()
        learns = learned.grad is not None and learned.grad.abs().sum() > 0
        assert learns == (name not in WITHOUT_GRADIENT.get(case.name, ())), name
        assert learned.grad is None or learned.grad.isfinite().all()


def test_loaded_ranges_are_used() -> None:
    """#4428: what ``state_dict`` holds is what is drawn from, and an op without learnable ranges holds nothing."""
    op = K.RandomBrightness(nn.Parameter(torch.tensor([0.5, 1.5])), p=1.0)
    (name,) = op.state_dict()
    op.load_state_dict({name: torch.tensor([1.25, 1.25])})
    assert op.forward_parameters((9, 3, 4, 4))["brightness_factor"].eq(1.25).all()
    assert K.RandomBrightness((0.5, 1.5)).state_dict() == {}


class Augmented(Dataset):
    """A sample a row, augmented in a worker."""

    def __init__(self) -> None:
        bounds = nn.Parameter(torch.tensor([0.5, 1.5]))
        self.ops = seq(K.RandomBrightness(bounds, p=1.0), K.RandomAffine(torch.tensor([-9.0, 9.0])), keepdim=True)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Tensor:
        return self.ops(picture(1, size=(8, 9))[0]).detach()


def test_ranges_as_parameters_go_to_workers() -> None:
    """PR #2552, PR #2637: ops with parameters and tensors for ranges work in spawned workers, each of its own draws."""
    loader = DataLoader(Augmented(), batch_size=2, num_workers=2, multiprocessing_context="spawn")
    rows = torch.cat(list(loader))
    assert rows.shape == (4, 3, 8, 9) and rows.isfinite().all()
    assert len({row.sum().item() for row in rows}) == 4


def test_ranges_as_parameters_can_be_pickled() -> None:
    """PR #2552, PR #2637: ops with tensors for ranges go to workers."""
    bounds = nn.Parameter(torch.tensor([0.5, 1.5]))
    for op in (K.ColorJitter(brightness=bounds), K.RandomAffine(torch.tensor([-9.0, 9.0]), p=torch.tensor(0.5))):
        other = pickle.loads(pickle.dumps(op))
        assert torch.equal(call_seeded(other, picture()), call_seeded(op, picture()))


def test_export() -> None:
    """torchgeo/torchgeo#3108, torchgeo PR #2893: a pipeline without chance can be exported."""
    pipeline = nn.Sequential(K.Resize((8, 9)), K.CenterCrop((6, 7)), K.Normalize(0.5, 0.25))
    exported = torch.export.export(pipeline, (picture(2),)).module()
    other = picture(2) / 2
    assert_close(exported(other), pipeline(other))


ONE, ZERO = (1.0, 1.0), (0.0, 0.0)
STILL: Mapping[str, Mapping[str, Any]] = {
    "ColorJiggle": {},
    "LetterBox": {"size": (17, 23)},
    "LongestMaxSize": {"max_size": 23},
    "PadTo": {"size": (17, 23)},
    "RandomBoxBlur": {"kernel_size": (1, 1)},
    "RandomContrast": {"contrast": ONE},
    "RandomDownscale": {"scale_range": ONE},
    "RandomFog": {"severity": ZERO},
    "RandomGamma": {"gamma": ONE, "gain": ONE},
    "RandomGaussianIllumination": {"gain": ZERO},
    "RandomHue": {"hue": 0.0},
    "RandomISONoise": {"color_shift": ZERO, "intensity": ZERO},
    "RandomIoUCrop": {"min_scale": 1.0},
    "RandomLinearCornerIllumination": {"gain": ZERO},
    "RandomLinearIllumination": {"gain": ZERO},
    "RandomMedianBlur": {"kernel_size": (1, 1)},
    "RandomMotionBlur": {"kernel_size": 1, "angle": 90.0, "direction": 1.0},
    "RandomPhotometricDistort": {"brightness": ONE, "contrast": ONE, "saturation": ONE, "hue": ZERO, "p_step": 0.0},
    "RandomPlasmaBrightness": {"intensity": ZERO},
    "RandomPlasmaShadow": {"shade_intensity": ZERO},
    "RandomPosterize": {"bits": (8, 8)},
    "RandomRGBShift": {"r_shift_limit": 0.0, "g_shift_limit": 0.0, "b_shift_limit": 0.0},
    "RandomRotation90": {"times": (0, 0)},
    "RandomSaltAndPepperNoise": {"amount": ZERO},
    "RandomSaturation": {"saturation": ONE},
    "RandomSharpness": {"sharpness": ONE},
    "RandomShear": {"shear": ZERO},
    "RandomSnow": {"snow_coefficient": ZERO, "brightness": ONE},
    "RandomTranslate": {"translate_x": ZERO, "translate_y": ZERO},
    "RandomZoomBlur": {"max_factor": ONE},
    "RandomZoomOut": {"side_range": ONE},
    "SmallestMaxSize": {"max_size": 17},
}


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", STILL)
def test_no_strength_is_the_identity(name: str, dtype: torch.dtype) -> None:
    """#3904, #4411, #747: arguments under which nothing happens change nothing, in any dtype."""
    image = picture(2, dtype=dtype)
    case = Case(name, getattr(K, name), STILL[name])
    posterized = name == "RandomPosterize" and dtype.is_floating_point  # to the levels of a byte
    assert_close(case(p=1.0)(image), image, atol=0.5 / 255 if posterized else 1e-5, rtol=0)
