"""Labels of which every image has its own number: padded to one shape, and back."""

from collections.abc import Sequence

import torch
from torch import Tensor


def pad_labels(rows: Sequence[Tensor], length: int | None = None, value: float = 0.0) -> tuple[Tensor, Tensor]:
    """Pad a list of labels, one tensor for each image, to one tensor with a mask.

    Args:
        rows: boxes (n, 4), keypoints (n, 2), masks (n, H, W) or whatever there are n of, for each image.
        length: N, how many an image may have; None for the most that one has. A fixed number keeps shapes static.
        value: what padding holds.

    Returns:
        The labels (B, N, ...), and which of them are no padding, (B, N) bool.
    """
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, Tensor) and row.ndim for row in rows):
        raise TypeError(f"rows: expected a list of tensors, one for each image; got {rows!r:.80}")
    if not rows:
        raise ValueError("rows: expected at least one, to know the shape of a label from; got none")
    for i, row in enumerate(rows):
        if (row.shape[1:], row.dtype) != (rows[0].shape[1:], rows[0].dtype):
            tail, dtype = tuple(rows[0].shape[1:]), rows[0].dtype
            raise ValueError(
                f"rows[{i}]: expected labels of shape {tail} and {dtype}, as rows[0] has; "
                f"got {tuple(row.shape[1:])} and {row.dtype}"
            )
        if length is not None and len(row) > length:
            raise ValueError(f"rows[{i}]: expected at most {length} labels, got {len(row)}")
    most = max(map(len, rows)) if length is None else length
    labels = rows[0].new_full((len(rows), most, *rows[0].shape[1:]), value)
    valid = torch.zeros(len(rows), most, dtype=torch.bool, device=labels.device)
    for i, row in enumerate(rows):
        labels[i, : len(row)], valid[i, : len(row)] = row, True
    return labels, valid


def unpad_labels(labels: Tensor, valid: Tensor) -> list[Tensor]:
    """Give of labels (B, N, ...) the valid ones (B, N), as a list with a tensor for each image."""
    if valid.dtype != torch.bool or labels.shape[:2] != valid.shape:
        raise ValueError(
            f"valid: expected a bool mask of shape {tuple(labels.shape[:2])}, got {tuple(valid.shape)} {valid.dtype}"
        )
    return [row[kept] for row, kept in zip(labels, valid, strict=True)]
