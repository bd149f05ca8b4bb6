"""The training scripts run, learn, and draw differently in every process."""

import importlib
import os
import re
import subprocess
import sys

import pytest
import torch

SETTINGS = ["--epochs", "3", "--images", "192", "--batch", "16"]


@pytest.mark.parametrize("name", ["classification", "detection", "segmentation"])
def test_the_loss_falls(name: str, optimizer: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = importlib.import_module(f"augment.examples.{name}")
    score = script.main([*SETTINGS, "--backend", optimizer])
    losses = [float(found) for found in re.findall(r"loss (\d+\.\d+)", capsys.readouterr().out)]
    assert len(losses) == 3 and losses[2] < 0.95 * losses[0] and 0 <= score <= 1


def test_boxes_and_masks_are_where_shapes_are() -> None:
    from augment.examples import classification, detection, segmentation

    images, labels = classification.make_data(8, seed=0)
    assert images.shape == (8, 3, 32, 32) and images.dtype == torch.uint8 and set(labels.tolist()) <= set(range(4))
    images, masks = segmentation.make_data(8, seed=0)
    grey = images.float().mean(1, keepdim=True)
    assert grey[masks > 0].mean() > grey[masks == 0].mean() + 50 and set(masks.unique().tolist()) == {0, 1, 2}
    images, boxes, real = detection.make_data(8, seed=0)
    grey, (i, n) = images.float().mean(1), real.nonzero().unbind(1)
    x, y = (boxes[i, n, :2] + boxes[i, n, 2:]).div(2).long().unbind(1)
    assert grey[i, y, x].mean() > grey[:, :2, :2].mean() + 50 and not boxes[~real].any()


def test_ranks_draw_differently() -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "augment.examples.classification", "--epochs", "1", "--images", "65", "--batch", "16"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    command += ["--backend", "eager"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert run.returncode == 0, run.stderr[-2000:]
    angles = dict(re.findall(r"rank (\d): last angles ((?: ?-?\d+\.\d{3}){3})", run.stdout))
    assert sorted(angles) == ["0", "1"]
    first, second = (set(angles[rank].split()) for rank in "01")
    assert len(first | second) == 6
    assert run.stdout.count("epoch 1: loss") == 1
