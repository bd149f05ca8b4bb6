"""From a recipe to what can be timed: each library's call on the same images, and how far its output is from ours."""

import importlib
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

import augment

from . import peers
from .opencv import opencv
from .recipes import Recipe, always

LIBRARIES = ("augment", "kornia", "torchvision", "albumentations", "opencv")
MODULES = {"kornia": "kornia.augmentation", "torchvision": "torchvision.transforms.v2", "opencv": "cv2"}
TRACED = ("augment", "kornia")  # the libraries that are also compiled
MODES = ("eager", "compiled", "reduce-overhead")
COMPARED = 4  # images
OWN = {"CenterCrop": "whole pixels", "RandomCrop": "whole pixels", "RandomRotation90": "whole pixels"}
OWN["RandomZoomBlur"] = "bilinear"


@dataclass(frozen=True)
class Regime:
    """What a batch is made of."""

    batch: int
    side: int
    dtype: str
    device: str = "cpu"

    def __str__(self) -> str:
        return f"{self.batch} x 3 x {self.side} x {self.side} {self.dtype} on {self.device}"

    @property
    def white(self) -> float:
        """The brightest value."""
        return 255.0 if self.dtype == "uint8" else 1.0


class Images:
    """The images of a regime, in the form that each library takes them."""

    def __init__(self, regime: Regime) -> None:
        self.regime = regime
        pixels = torch.from_numpy(photographs(regime.batch, regime.side)).permute(0, 3, 1, 2).contiguous()
        pixels = pixels.to(regime.device)
        self.batch = pixels if regime.dtype == "uint8" else (pixels / 255).to(getattr(torch, regime.dtype))

    def renew(self) -> None:
        """Move the images in memory: times depend on where they lie, and one place must not stand for all."""
        self.spacer = torch.empty(int(torch.randint(1 << 22, ())), dtype=torch.uint8)
        self.batch = self.batch.clone()
        for made in ("tensors", "arrays"):
            self.__dict__.pop(made, None)
            getattr(self, made)  # outside what is timed

    @cached_property
    def tensors(self) -> list[Tensor]:
        """The images one by one, (C, H, W)."""
        return list(self.batch)

    @cached_property
    def arrays(self) -> list[Any]:
        """The images one by one, (H, W, C), contiguous."""
        return [np.ascontiguousarray(image.permute(1, 2, 0).cpu().numpy()) for image in self.batch]


@lru_cache(maxsize=2)
def photographs(number: int, side: int) -> Any:
    """Give crops of photographs as a (number, side, side, 3) uint8 array: real content, as timings depend on it."""
    from PIL import Image
    from skimage import data

    sources = [Image.fromarray(photo()) for photo in (data.astronaut, data.coffee, data.chelsea)]
    rng = np.random.default_rng(0)
    crops = []
    for i in range(number):
        source = sources[i % len(sources)]
        edge = int(rng.uniform(0.6, 1.0) * min(source.size))
        left, top = (int(rng.integers(0, n - edge + 1)) for n in source.size)
        crop = source.crop((left, top, left + edge, top + edge))
        crops.append(np.asarray(crop.resize((side, side), Image.Resampling.LANCZOS)))
    return np.stack(crops)


@dataclass
class Backend:
    """A library's way through a recipe: a call to be timed, or the message of its failure."""

    library: str
    mode: str
    did: Mapping[str, str]
    call: Callable[[], Any] | None = None
    compiles: Callable[..., Any] | None = None
    around: Callable[[Callable[..., Any]], Callable[[], Any]] | None = None
    """Makes a call of what `compiles` was compiled to."""
    agreement: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    idle: tuple[float, Callable[[], Any]] | None = None
    """How often one draw for all its images says no, and the call that then is made."""


def missing(libraries: list[str]) -> dict[str, str]:
    """Give the libraries that are not here, and why."""
    found = {}
    for library in libraries:
        try:
            importlib.import_module(MODULES.get(library, library))
        except ImportError as error:
            found[library] = str(error)
    return found


def message(error: BaseException) -> str:
    """Give an error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}"


def backends(recipe: Recipe, images: Images, modes: Mapping[str, list[str]]) -> Iterator[Backend]:
    """Give what there is to time: the floor first, then each library; a failure is a backend with its message."""
    yield Backend("floor", "eager", {"pixels": "a copy of the batch", "layout": "NCHW"}, images.batch.clone)
    for library, named in modes.items():
        if library in TRACED:
            yield from _modules(library, recipe, images, named)
        elif "eager" in named:
            yield from _loops(library, recipe, images)


def _modules(library: str, recipe: Recipe, images: Images, modes: list[str]) -> Iterator[Backend]:
    """Give ours or kornia's op in each mode."""
    if library == "kornia" and not hasattr(_kornia(), recipe.op):
        return
    for mode in modes:
        try:
            op = build(library, recipe.op, recipe.arguments)

            def around(op: Callable[..., Any]) -> Callable[[], Any]:
                return lambda: op(images.batch)

            backend = Backend(library, mode, _describe(op, images), around(op), around=around)
            backend.compiles = None if mode == "eager" else op
            if mode == modes[0] and library == "kornia":
                backend.agreement = agreement(library, recipe, images)
        except Exception as error:
            backend = Backend(library, mode, {}, error=message(error))
        yield backend


def _kornia() -> Any:
    return importlib.import_module("kornia.augmentation")


def build(library: str, name: str, arguments: Mapping[str, Any]) -> torch.nn.Module:
    """Build ours or kornia's op; kornia does without the arguments that are ours alone."""
    op = getattr(augment if library == "augment" else _kornia(), name)
    known = inspect.signature(op).parameters
    return op(**{key: value for key, value in arguments.items() if library == "augment" or key in known})


def _describe(op: Any, images: Images) -> dict[str, str]:
    """Say what an op does: in words where its flags do not say it, else as they have it."""
    flags = {**getattr(op, "flags", {})}
    named = {key: str(getattr(value, "name", value)).lower() for key, value in flags.items()}
    parts = ("resample", "antialias", "align_corners", "downscale", "upscale", "border_type")
    told = ", ".join(f"{key} {named[key]}" for key in parts if key in named) or "exact"
    if named.get("cropping_mode") == "slice" and type(op).__name__ in ("CenterCrop", "RandomCrop"):
        told = "whole pixels"
    if op.__module__.startswith("augment"):
        told = OWN.get(type(op).__name__, told)
    return {"draw": "per sample", "pixels": told, **_form("NCHW", images)}


def _form(layout: str, images: Images) -> dict[str, str]:
    return {"layout": layout, "dtype": images.regime.dtype, "built": "outside the timing", "drawn": "inside the timing"}


@lru_cache(maxsize=32)
def adapters(library: str, side: int, white: float) -> dict[str, peers.Peer]:
    """Give the table of a peer."""
    tables = {
        "torchvision": lambda: peers.torchvision(side),
        "albumentations": lambda: peers.albumentations(side, white),
    }
    return tables.get(library, lambda: opencv(side, white))()


def _loops(library: str, recipe: Recipe, images: Images) -> Iterator[Backend]:
    """Give a peer's transform, called on each image; torchvision's also on the whole batch."""
    regime = images.regime
    peer = adapters(library, regime.side, regime.white).get(recipe.label)
    if peer is None:
        return
    if regime.device != "cpu" and library != "torchvision":
        yield Backend(library, "eager", {}, error=f"runs on the CPU, not on {regime.device}")
        return
    did = {"draw": "per image", "pixels": peer.did, **_form("list of HWC", images)}
    try:
        transform = peer.build(recipe.arguments)
        near = agreement(library, recipe, images)
    except Exception as error:
        yield Backend(library, "eager", did, error=message(error))
        return
    if library == "albumentations" and recipe.arguments.get("p", 1.0) < 1:
        did["draw"] += "; one that is left alone is not copied"
    if library != "torchvision":
        each = caller(library, transform)
        yield Backend(library, "eager", did, lambda: [each(image) for image in images.arrays], agreement=near)
        return
    yield _batch_call(recipe, peer, images, did, near)
    did["layout"] = "list of CHW"
    yield Backend("torchvision loop", "eager", did, lambda: [transform(x) for x in images.tensors], agreement=near)


def _batch_call(recipe: Recipe, peer: peers.Peer, images: Images, did: Mapping[str, str], near: Any) -> Backend:
    """Give torchvision's call on the whole batch, and where its draw may say no, that call apart."""
    p = recipe.arguments.get("p", 1.0)
    always, never = (peer.build({**recipe.arguments, "p": chance}) for chance in (1.0, 0.0))
    whole = {**did, "draw": "one draw for the batch", "layout": "NCHW"}
    if p == 1:
        return Backend("torchvision batch", "eager", whole, lambda: always(images.batch), agreement=near)
    whole["draw"] += f"; time: {p:g} of a call that transforms and {1 - p:g} of one that does not"
    idle = (1 - p, lambda: never(images.batch))
    return Backend("torchvision batch", "eager", whole, lambda: always(images.batch), agreement=near, idle=idle)


def caller(library: str, transform: Callable[..., Any]) -> Callable[[Any], Any]:
    """Give a transform as a function from image to image."""
    return (lambda image: transform(image=image)["image"]) if library == "albumentations" else transform


def agreement(library: str, recipe: Recipe, images: Images) -> dict[str, Any]:
    """Give the largest and mean difference of ours and a peer's output, with white as 1 and nothing left to chance."""
    if library == "kornia":
        return distance(*_under_one_draw(recipe, images.batch[:COMPARED]))
    peer = adapters(library, images.regime.side, images.regime.white)[recipe.label]
    if not peer.comparable:
        return {"note": "draws cannot be pinned"}
    few = images.batch[:COMPARED]
    ours = build("augment", recipe.op, recipe.certain)
    wanted = ours(few)
    got = []
    for i, (tensor, array) in enumerate(zip(few, images.arrays, strict=False)):
        row = {key: value[i] for key, value in ours._params.items() if value.shape[:1] == few.shape[:1]}
        built = caller(library, peer.build(recipe.certain))
        transform = peer.shown(recipe.certain, row) if peer.shown else built
        if library == "torchvision":
            got.append(transform(tensor))
        else:
            got.append(torch.from_numpy(np.ascontiguousarray(transform(array))).permute(2, 0, 1).to(few.device))
    return distance(wanted, torch.stack(got))


def _under_one_draw(recipe: Recipe, image: Tensor) -> tuple[Tensor, Tensor]:
    """Give ours and kornia's output on kornia's parameters, with every row changed."""
    ours, theirs = (build(library, recipe.op, always(recipe).arguments) for library in TRACED)
    params = theirs.forward_parameters(image.shape)
    return ours(image, params=dict(params)), theirs(image, params=dict(params))


def distance(ours: Tensor, theirs: Tensor) -> dict[str, Any]:
    """Give the largest and mean difference of two batches, or say why there is none."""
    if ours.shape != theirs.shape:
        return {"note": f"shapes {tuple(ours.shape)} and {tuple(theirs.shape)}"}
    a, b = (x.double() / (255 if x.dtype == torch.uint8 else 1) for x in (ours, theirs))
    gap = (a - b).abs()
    found = {"max": gap.max().item(), "mean": gap.mean().item()}
    return {key: value if math.isfinite(value) else None for key, value in found.items()}


def described(regime: Regime, images: Images) -> dict[str, Any]:
    """Give a regime as it is written down."""
    return {**asdict(regime), "strides": list(images.batch.stride())}
