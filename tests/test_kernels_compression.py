import io

import numpy as np
import pytest
import torch
from kernel_images import done, images
from PIL import Image

from augment.functional import jpeg
from augment.kernels import compression, core
from augment.native import compression as native

pytestmark = pytest.mark.skipif(core.built is None, reason="built without a C compiler")

SIZES = [(1, 1), (2, 3), (8, 7), (16, 16), (37, 61), (15, 257), (130, 272)]


@pytest.fixture(params=core.built.sets() if core.built else [])
def instructions(request):
    core.built.use(request.param)
    yield request.param
    core.built.use(core.built.sets()[-1])


def tables(quality):
    return jpeg.quantization_tables(torch.tensor([float(quality)]))[0]


def alike(found, expected):
    """See that bytes are alike but where a coefficient between two steps fell to the other side."""
    off = (found.double() - expected.round()).abs()
    assert (off > 0).double().mean() < 1e-3 or (off > 0).sum() <= 1


@pytest.mark.parametrize("quality", [5, 30, 75, 100])
def test_jpeg_is_what_is_defined(instructions, quality):
    steps = tables(quality)
    for size in SIZES:
        for image in images(size):
            found = done(compression.jpeg, image, steps.flatten().tolist())
            alike(found, jpeg.jpeg(image.double(), steps.double()))
            alike(found, jpeg.jpeg_levels(image, steps).double())
            planar = torch.empty(image.shape)
            assert torch.equal(done(compression.jpeg, image, steps.flatten().tolist(), out_like=planar), found)


def test_jpeg_is_close_to_the_pils(instructions):
    y, x = torch.meshgrid(torch.arange(96), torch.arange(128), indexing="ij")
    image = torch.stack([x + y, 2 * y, 255 - x]).clamp(0, 255).byte()
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image.permute(1, 2, 0))).save(file, "JPEG", quality=60)
    expected = torch.from_numpy(np.asarray(Image.open(file)).copy()).permute(2, 0, 1)
    found = done(compression.jpeg, image, tables(60).flatten().tolist())
    assert (found.double() - expected.double()).abs().mean() < 2


def test_instruction_sets_agree():
    found = []
    for name in core.built.sets():
        core.built.use(name)
        torch.manual_seed(0)
        found.append([done(compression.jpeg, image, tables(40).flatten().tolist()) for image in images((70, 90))])
    assert all(torch.equal(one, other) for one, other in zip(found[0], found[-1], strict=True))


@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_the_op_does_the_same_without_kernels(monkeypatch, format, channels):
    image = torch.randint(0, 256, (3, channels, 40, 50), dtype=torch.uint8).to(memory_format=format)
    gate, steps = torch.tensor([True, False, True]), torch.stack([tables(q) for q in (20, 50, 90)])
    found = native.jpeg(image, gate, steps)
    monkeypatch.setattr(core, "built", None)
    expected = native.jpeg(image, gate, steps)
    assert found.is_contiguous(memory_format=format) and expected.is_contiguous(memory_format=format)
    alike(found, expected.double())
    assert torch.equal(found[1], image[1])
