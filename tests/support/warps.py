"""Images as they may lie in memory, for the kernels in C for geometry."""

from collections.abc import Callable

import torch
from torch import Tensor

PADDINGS = ("zeros", "border", "reflection")
LAYOUTS = ("planar", "last", "gaps")


def laid_out(image: Tensor, layout: str) -> Tensor:
    """Give an image (C, H, W) another place in memory."""
    if layout == "planar":
        return image.contiguous()
    if layout == "last":
        return image.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    c, h, w = image.shape
    wide = torch.full((c, h + 2, 2 * w + 3), 77, dtype=image.dtype)
    wide[:, 1:-1, 1 : 2 * w : 2] = image
    return wide[:, 1:-1, 1 : 2 * w : 2]


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 256, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)


def assert_nearest(found: Tensor, exact: Tensor, share: float = 0.0, slack: float = 0.02) -> None:
    """Require the levels nearest to exact values, but where they lie as good as between two."""
    off = ((found - exact).abs() > 0.5 + slack).double().mean()
    assert off <= share, f"{off:.4%} of the pixels are not the nearest levels"


def run(fn: Callable[[Tensor, Tensor], bool], image: Tensor, size: tuple[int, int]) -> list[Tensor]:
    """Give what a kernel writes for each layout; what lies around the output stays."""
    found = []
    for one in LAYOUTS:
        for other in LAYOUTS:
            out = laid_out(torch.zeros((len(image), *size), dtype=torch.uint8), other)
            assert fn(laid_out(image, one), out)
            if other == "gaps":
                assert (out._base[:, :, ::2] == 77).all() and (out._base[:, [0, -1]] == 77).all()
            found.append(out.clone(memory_format=torch.contiguous_format))
    assert all(torch.equal(found[0], one) for one in found[1:])
    return found


MATRICES = {
    "turn": [[0.9, -0.43, 10.2], [0.43, 0.9, -7.7], [0.0, 0.0, 1.0]],
    "far": [[4.5, 0.2, -31.0], [-0.3, -5.5, 90.0], [0.0, 0.0, 1.0]],
    "projective": [[0.9, -0.43, 10.2], [0.43, 0.9, -7.7], [0.004, -0.003, 1.0]],
}
