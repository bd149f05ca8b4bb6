"""Displacements of bytes by kernels in C, and of rows as of the batch."""

import pytest
import torch
from torch.testing import assert_close

from augment import kernels as native
from augment.kernels.field import c as field_c
from augment.kernels.field import maths as fields
from augment.kernels.warp import maths as resample
from tests.support.helpers import picture
from tests.support.opaque import FIELD, LENS, LINES, PLATE, B
from tests.support.warps import PADDINGS, assert_nearest, noise, run


@pytest.mark.parametrize("padding", PADDINGS)
def test_displacements(instructions: str, padding: str) -> None:
    image, code, fill = noise(3, 31, 45), resample.PADDINGS[padding], [10.5, 200.0, 99.3]
    field = torch.randn((2, 37, 50), generator=torch.Generator().manual_seed(5)) * 9
    found = run(field_c.displace, image, (37, 50), field, 0, code, fill)
    exact = resample.displacement(image[None].double(), field[None].double(), 0, code, fill)[0]
    assert_nearest(found.double(), exact)
    turned = field.mT.contiguous().mT
    assert torch.equal(run(field_c.displace, image, (37, 50), turned, 0, code, fill), found)


@pytest.mark.parametrize("padding", PADDINGS)
def test_lines(instructions: str, padding: str) -> None:
    image, code, fill = noise(3, 17, 23), resample.PADDINGS[padding], [10.5, 200.0, 99.3]
    for lines in LINES[1:]:
        found = run(field_c.displace_lines, image, (17, 23), lines, 0, code, fill)
        field = fields.lines_field(lines[None].double(), 17, 23)
        assert_nearest(found.double(), resample.displacement(image[None].double(), field, 0, code, fill)[0])


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
    field = fields.lines_field(LINES, 17, 23)
    args = (resample.MODES[mode], resample.PADDINGS[padding], [0.25])
    assert_close(rows, resample.displacement(image, field, *args), atol=2e-5, rtol=0)
    assert torch.equal(rows[0], image[0])
