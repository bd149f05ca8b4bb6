"""Compiled ops against eager ones."""

import torch
from torch.testing import assert_close

from tests.support.helpers import assert_params_close, call_seeded, graphs


def compiled_like_eager(op, image, optimizer: str) -> None:
    """Compile, compare with eager under the same seed, and require that new draws compile nothing.

    Of an image that requires a gradient, the gradients are compared as well, which the same graph gives.
    """
    compiled = torch.compile(op, fullgraph=True, backend=optimizer)
    output = call_seeded(compiled, image)
    params = op._params
    expected = call_seeded(op, image)
    assert_params_close(params, op._params)
    if image.dtype == torch.uint8 and output.dtype == torch.uint8:
        # values that lie on the border of two levels may fall to either side
        different = (output.int() - expected.int()).abs()
        assert different.max() <= 1 and (different > 0).float().mean() < 1e-3
    else:
        assert_close(output, expected, rtol=1e-4, atol=1e-5)
    if image.requires_grad:
        found, right = (torch.autograd.grad(values.square().sum(), image)[0] for values in (output, expected))
        assert_close(found, right, rtol=1e-3, atol=1e-3)
        assert right.abs().sum() > 0
    once = graphs()
    draws = [call_seeded(compiled, image, seed=seed) for seed in range(5)]
    assert graphs() == once
    for seed, draw in enumerate(draws):
        assert draw.shape == output.shape
        assert_close(
            draw.float(),
            call_seeded(op, image, seed=seed).float(),
            rtol=1e-4,
            atol=1 if draw.dtype == torch.uint8 else 1e-5,
        )
