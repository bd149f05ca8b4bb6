"""Labels of which every image has its own number: padded to one shape, and back."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence


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


def stacked_masks(masks: Sequence[Tensor], name: str, padded: bool) -> Tensor:
    """The masks of each row, (..., H, W), as one tensor (B, N, H, W).

    With ``padded`` it is filled up with empty masks; otherwise every row has to have as many. ``name`` is for messages.
    """
    for i, mask in enumerate(masks):
        if mask.ndim < 2 or mask.dtype != masks[0].dtype:
            raise ValueError(
                f"{name}: mask[{i}]: expected (n, H, W) of {masks[0].dtype}, as mask[0] has; "
                f"got {tuple(mask.shape)} {mask.dtype}"
            )
    rows = [mask.reshape(-1, *mask.shape[-2:]) for mask in masks]
    counts = [len(row) for row in rows]
    if not padded and any(n != counts[0] for n in counts):
        raise ValueError(
            f"{name}: mask: expected as many masks for every row, for those of two rows are mixed one by one; got "
            f"{counts}; those of objects, of which each row has its own number, are for RandomCopyPaste"
        )
    return pad_sequence(rows, True)


def listed_masks(mixed: Tensor, masks: Sequence[Tensor], cut: bool) -> list[Tensor]:
    """Give masks (B, N, H, W) as the list that they were, where asked for without what was filled up."""
    rows = []
    for row, mask in zip(mixed.unbind(0), masks, strict=True):
        count = math.prod(mask.shape[:-2])
        row = row[:count] if cut else row
        rows.append(row.unflatten(0, mask.shape[:-2]) if mask.ndim > 3 and len(row) == count else row)
        if mask.ndim == 2 and len(row) == 1:
            rows[-1] = row.squeeze(0)
    return rows


def stacked_classes(classes: Sequence[Tensor], counts: Sequence[int] | None, n: int, name: str) -> Tensor:
    """The classes of each row, (n,), as one tensor (B, n), filled up with zeros.

    ``counts`` are how many labels each row has, None where they are padded already. ``name`` is for messages.
    """
    for i, row in enumerate(classes):
        most = n if counts is None else counts[i]
        least = 0 if counts is None else most
        if row.ndim != 1 or row.dtype != classes[0].dtype or not least <= len(row) <= most:
            raise ValueError(
                f"{name}: class[{i}]: expected ({most},) of {classes[0].dtype}, for as many labels of the row; "
                f"got {tuple(row.shape)} {row.dtype}"
            )
    padded = pad_sequence(list(classes), True)
    return pad(padded, (0, n - padded.shape[1]))
