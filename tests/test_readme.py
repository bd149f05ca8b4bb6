"""What the README and CONTRIBUTING say is true."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import augment

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)


def test_first_block_is_the_two_commands() -> None:
    language, block = BLOCKS[0]
    assert language == "bash"
    assert block.splitlines() == [
        'pip install ".[demo]" && python -m augment preview',
        'pip install -e ".[test]" && KORNIA_TEST_OPTIMIZER=inductor pytest',
    ]


def test_table_of_ops_is_the_registry() -> None:
    table = README.split("<!-- ops -->")[1].split("<!-- /ops -->")[0].strip()
    command = [sys.executable, "-m", "augment", "list", "--markdown"]
    assert table == subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_pipeline_example_runs(optimizer: str) -> None:
    code = next(block for language, block in BLOCKS if language == "python")
    code = code.replace("fullgraph=True", f"fullgraph=True, backend={optimizer!r}")
    images = torch.randint(0, 256, (2, 3, 240, 300), dtype=torch.uint8)
    masks = torch.randint(0, 5, (2, 1, 240, 300))
    names = {"images": images, "masks": masks, "boxes": torch.tensor([[[10.0, 20, 60, 80]]] * 2)}
    exec(code, names)
    assert names["image"].shape == (2, 3, 224, 224) and names["image"].dtype == torch.float32
    assert names["mask"].shape == (2, 1, 224, 224) and set(names["mask"].unique().tolist()) <= set(range(5))
    assert names["boxes"].shape == (2, 1, 4)


def test_detection_example_runs() -> None:
    code = [block for language, block in BLOCKS if language == "python"][1]
    boxes, points = torch.tensor([[[10.0, 20, 60, 80], [0, 0, 0, 0]]] * 2), torch.tensor([[[30.0, 40]]] * 2)
    names = {"K": augment, "images": torch.rand(2, 3, 90, 120), "boxes": boxes, "points": points}
    exec(code, names)
    assert names["image"].shape == (2, 3, 640, 640) and names["boxes"].shape == (2, 2, 4)
    assert names["keep"].tolist() == [[True, False]] * 2


def test_choices_example_runs() -> None:
    code = [block for language, block in BLOCKS if language == "python"][2]
    images = torch.randint(0, 256, (4, 3, 90, 120), dtype=torch.uint8)
    names = {"K": augment, "images": images, "points": torch.tensor([[[30.0, 40]]] * 4)}
    exec(code, names)
    assert names["image"].shape == (4, 3, 64, 64) and names["points"].shape == (4, 1, 2)
    assert torch.equal(names["image"], names["again"])


def test_mixing_example_runs(optimizer: str) -> None:
    code = [block for language, block in BLOCKS if language == "python"][3]
    code = code.replace("fullgraph=True", f"fullgraph=True, backend={optimizer!r}")
    boxes, labels = torch.tensor([[[10.0, 20, 60, 80], [0, 0, 0, 0]]] * 4), torch.randint(10, (4, 2))
    names = {"K": augment, "torch": torch, "images": torch.rand(4, 3, 90, 120), "boxes": boxes, "labels": labels}
    names["masks"] = torch.randint(5, (4, 1, 90, 120))
    exec(code, names)
    assert names["boxes"].shape == (4, 16, 4) and names["classes"].shape == names["keep"].shape == (4, 16)
    assert names["shares"].shape == (4, 10)


def test_policy_example_runs(optimizer: str) -> None:
    code = [block for language, block in BLOCKS if language == "python"][4]
    code = code.replace("fullgraph=True", f"fullgraph=True, backend={optimizer!r}")
    images, boxes = torch.randint(0, 256, (3, 3, 40, 50), dtype=torch.uint8), torch.tensor([[[10.0, 20, 30, 40]]] * 3)
    masks = torch.randint(0, 5, (3, 1, 40, 50))
    names = {"torch": torch, "K": augment, "images": images, "masks": masks, "boxes": boxes}
    exec(code, names)
    assert names["image"].shape == (3, 3, 40, 50) and names["image"].dtype == torch.uint8
    assert names["mask"].dtype == torch.int64 and names["boxes"].shape == (3, 1, 4)
    assert names["drawn"]["operation"].shape == (3, 2)


def test_video_example_runs(optimizer: str) -> None:
    code = [block for language, block in BLOCKS if language == "python"][5]
    code = code.replace("fullgraph=True", f"fullgraph=True, backend={optimizer!r}")
    clips, masks = torch.randint(0, 256, (2, 3, 3, 40, 50), dtype=torch.uint8), torch.randint(0, 5, (2, 3, 40, 50))
    names = {"torch": torch, "K": augment, "clips": clips, "masks": masks, "points": torch.full((2, 3, 1, 2), 20.0)}
    exec(code, names)
    assert names["clips"].shape == (2, 3, 3, 64, 64) and names["clips"].dtype == torch.uint8
    assert names["masks"].shape == (2, 3, 64, 64) and names["points"].shape == (2, 3, 1, 2)


def test_patch_example_runs() -> None:
    code = [block for language, block in BLOCKS if language == "python"][6]
    names = {"torch": torch, "K": augment, "images": torch.rand(3, 3, 41, 50)}
    exec(code, names)
    assert names["image"].shape == (3, 3, 20, 25)


def test_dispatcher_example_runs(optimizer: str) -> None:
    code = [block for language, block in BLOCKS if language == "python"][7]
    code = code.replace("fullgraph=True", f"fullgraph=True, backend={optimizer!r}")
    names = {"torch": torch, "K": augment, "images": torch.randint(0, 256, (3, 3, 40, 50), dtype=torch.uint8)}
    exec(code, names)
    assert names["one"].shape == names["other"].shape == (3, 3, 32, 32)
    assert [len(images) for images in names["pair"]] == [3, 2]


def test_saving_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    calls, configuration = [block for language, block in BLOCKS if language == "python"][8:10]
    images, masks = torch.rand(3, 3, 40, 50), torch.randint(5, (3, 1, 40, 50))
    pipeline = augment.AugmentationSequential(augment.OneOf(augment.RandomAffine(20.0), augment.RandomInvert()))
    names = {"torch": torch, "K": augment, "images": images, "masks": masks, "pipeline": pipeline}
    exec(calls, names)
    assert torch.equal(names["again"], names["image"]) and torch.equal(names["once_more"], names["image"])
    pytest.importorskip("yaml")
    exec(configuration, names)
    assert names["mask"].dtype == torch.int64
    assert augment.to_yaml(augment.from_yaml(names["text"])) == names["text"]


def test_fused_example_runs() -> None:
    np = pytest.importorskip("numpy")
    code = [block for language, block in BLOCKS if language == "python"][10]
    names = {"np": np, "K": augment}
    exec(code, names)
    assert names["images"].shape == (8, 3, 48, 48) and names["images"].dtype == torch.float32
    assert repr(names["pipeline"]).count("as one: ") == 2


def test_torchvision_example_runs(optimizer: str) -> None:
    pytest.importorskip("torchvision")
    from torchvision import tv_tensors as tv

    code = [block for language, block in BLOCKS if language == "python"][11]
    code = code.replace("fullgraph=True", f"fullgraph=True, backend={optimizer!r}")
    boxes = tv.BoundingBoxes([[5.0, 6, 20, 30, 15]], format="CXCYWHR", canvas_size=(50, 60))
    names = {"torch": torch, "K": augment, "image": tv.Image(torch.rand(3, 50, 60)), "boxes": boxes}
    exec(code, names | {"masks": tv.Mask(torch.ones(2, 50, 60)), "labels": torch.arange(1)}, names)
    assert type(names["image"]) is tv.Image and names["image"].shape == (3, 30, 40)
    assert names["target"]["boxes"].canvas_size == (30, 40)
    assert names["target"]["boxes"].format == tv.BoundingBoxFormat.CXCYWHR


def test_contributed_op_works() -> None:
    from augment.common.types import Flags, Params
    from augment.kernels.colour import maths as colour
    from augment.kinds.intensity import Intensity

    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    names = {"torch": torch, "Tensor": torch.Tensor, "Params": Params, "Flags": Flags, "Intensity": Intensity}
    exec(blocks[0], names)
    colour.invert = names["invert"]
    try:
        exec(blocks[1], {**names, "colour": colour}, names)
        image = torch.rand(2, 3, 4, 5)
        assert torch.equal(names["RandomInvert"](p=1.0)(image), 1 - image)
    finally:
        del colour.invert
