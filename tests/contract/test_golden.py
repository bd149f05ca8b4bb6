"""Eager outputs under one seed, and public names, are those that are kept."""

import json
import math
from typing import Any

import pytest

import augment as K
import augment.testing
from tests.contract.golden import FILE, calls, outputs, told

KEPT = json.loads(FILE.read_text())
CALLS = dict(calls())


def test_every_call_that_is_kept_is_made() -> None:
    """A new op is kept from ``python -m tests.contract.golden`` on."""
    assert [name for name in KEPT if name not in CALLS] == []


@pytest.mark.parametrize("name", KEPT)
def test_golden(name: str) -> None:
    """Sums agree to what processors differ by: a level at most in one of a thousand bytes, the last bits of floats."""
    found: list[Any] = [told(value) for value in outputs(CALLS[name])]
    assert [entry[:2] for entry in found] == [entry[:2] for entry in KEPT[name]]
    for new, old in zip(found, KEPT[name], strict=True):
        for one, other in zip(new[2:], old[2:], strict=True):
            whole = "int" in new[0]
            assert math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-3 if whole else 2e-6), (new, old)


def test_public_names() -> None:
    kept = json.loads(FILE.with_name("names.json").read_text())
    assert [name for name in kept if name not in K.__all__] == []
    assert all(hasattr(K, name) for name in K.__all__)
    assert K.kernels.ready() in (True, False)
    assert callable(K.sampling.checks)
    assert K.composition.Collage and K.saving.to_json and K.auto.RandAugment and K.testing.cases()
