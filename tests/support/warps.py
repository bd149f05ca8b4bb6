"""Images as they may lie in memory, for the kernels in C for geometry."""

from typing import Any

import torch
from torch import Tensor

from augment.kernels.kernel import Backend

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


def run(backend: Backend, image: Tensor, size: tuple[int, int], *args: Any) -> Tensor:
    """Give what a backend writes for an image, alike for each layout; what lies around the output stays.

    Tensors among the arguments are those of the image, without the axis of the batch.
    """
    found, batch = [], [arg[None] if isinstance(arg, Tensor) else arg for arg in args]
    for one in LAYOUTS:
        for other in LAYOUTS:
            source, out = laid_out(image, one), laid_out(torch.zeros((len(image), *size), dtype=image.dtype), other)
            assert backend.takes(source[None], *batch)
            backend.run(source[None], out[None], None, *batch)
            if other == "gaps":
                kept = torch.tensor(77).to(image.dtype)
                assert (out._base[:, :, ::2] == kept).all() and (out._base[:, [0, -1]] == kept).all()
            found.append(out.clone(memory_format=torch.contiguous_format))
    assert all(torch.equal(found[0], one) for one in found[1:])
    return found[0]


def in_parts(backend: Backend, image: Tensor, size: tuple[int, int], *args: Any) -> None:
    """See that a batch comes out alike by one thread and by several, whatever rows are open; some is done in bands."""
    threads = torch.get_num_threads()
    for count in (1, 2, len(image)):
        given = [arg[:count] if isinstance(arg, Tensor) else arg for arg in args]
        for gate in (None, torch.arange(count) % 3 != 1):
            found = []
            for n in (1, 2, 7):
                torch.set_num_threads(n)
                out = torch.zeros((count, image.shape[1], *size), dtype=image.dtype)
                backend.run(image[:count], out, gate if size == image.shape[2:] else None, *given)
                found.append(out)
            assert all(torch.equal(found[0], one) for one in found[1:])
            if gate is not None and size == image.shape[2:]:
                assert torch.equal(found[0][~gate], image[:count][~gate])
    torch.set_num_threads(threads)


MATRICES = {
    "turn": [[0.9, -0.43, 10.2], [0.43, 0.9, -7.7], [0.0, 0.0, 1.0]],
    "far": [[4.5, 0.2, -31.0], [-0.3, -5.5, 90.0], [0.0, 0.0, 1.0]],
    "projective": [[0.9, -0.43, 10.2], [0.43, 0.9, -7.7], [0.004, -0.003, 1.0]],
}
