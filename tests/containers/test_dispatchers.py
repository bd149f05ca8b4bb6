"""Dispatchers: several containers in one call."""

import copy
import inspect
import json
import pickle
from typing import Any

import pytest
import torch
from torch.testing import assert_close

import augment as K
from tests.containers.test_patches import values
from tests.support.helpers import assert_params_close, call_seeded, graphs, saved

KEYS = ["image", "mask"]


@pytest.mark.parametrize(
    "name",
    [
        "ImageSequential",
        "PatchSequential",
        "VideoSequential",
        "ManyToManyAugmentationDispather",
        "ManyToOneAugmentationDispather",
    ],
)
def test_signature_is_kornias(name: str) -> None:
    kornia = pytest.importorskip("kornia.augmentation")
    theirs, ours = (inspect.signature(getattr(library, name)).parameters for library in (kornia, K))
    for key, parameter in theirs.items():
        assert ours[key].kind == parameter.kind and ours[key].default == parameter.default


def containers() -> list[K.AugmentationSequential]:
    return [
        K.AugmentationSequential(K.RandomAffine(30.0, p=0.5), K.RandomGaussianNoise(0.0, 0.1), data_keys=KEYS),
        K.OneOf(K.RandomHorizontalFlip(p=1.0), K.ColorJitter(0.2, 0.2, 0.2, 0.1, p=1.0), data_keys=KEYS),
        K.ImageSequential(K.RandomCrop((9, 9)), data_keys=KEYS),
    ]


def flat(outputs: Any) -> list[torch.Tensor]:
    return [value for output in outputs for value in output]


def equal(one: Any, other: Any) -> bool:
    return all(torch.equal(a, b) for a, b in zip(flat(one), flat(other), strict=True))


def test_every_input_has_its_container() -> None:
    given = [values(3), values(1), values(2)]
    dispatcher = K.ManyToManyAugmentationDispather(*containers())
    outputs = call_seeded(dispatcher, *map(tuple, given))
    torch.manual_seed(7)
    assert equal(outputs, [container(*args) for container, args in zip(containers(), given, strict=True)])
    flips = [K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), keepdim=keepdim) for keepdim in (True, None)]
    image = values()[0]
    one, other = K.ManyToManyAugmentationDispatcher(*flips)(image[0], {"image": image, "id": 3})
    assert torch.equal(one, image[0].flip(-1)) and torch.equal(other["image"], image.flip(-1)) and other["id"] == 3


def test_all_containers_have_one_input() -> None:
    dispatcher = K.ManyToOneAugmentationDispather(*containers())
    outputs = call_seeded(dispatcher, *values())
    torch.manual_seed(7)
    assert equal(outputs, [container(*values()) for container in containers()])
    views = K.ManyToOneAugmentationDispatcher(*(K.AugmentationSequential(K.RandomAffine(30.0, p=1.0)) for _ in "ab"))
    one, other = views(values()[0])
    assert not torch.equal(one, other)


def both() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    many, one = K.ManyToManyAugmentationDispather, K.ManyToOneAugmentationDispather
    inputs = tuple(tuple(values(b)) for b in (3, 1, 2))
    return {"many": (many(*containers()), inputs), "one": (one(*containers()), tuple(values()))}


@pytest.mark.parametrize("name", both())
def test_replay_and_inverse(name: str) -> None:
    dispatcher, given = both()[name]
    with pytest.raises(ValueError, match="params: expected a call before"):
        dispatcher.inverse(*given)
    outputs = call_seeded(dispatcher, *given)
    params = saved(dispatcher._params)
    back = dispatcher.inverse(*outputs)
    for other in (dispatcher, copy.deepcopy(dispatcher), pickle.loads(pickle.dumps(dispatcher)), both()[name][0]):
        assert equal(call_seeded(other, *given), outputs)
        assert equal(other(*given, params=params), outputs)
        assert equal(other.inverse(*outputs, params=params), back)
    state = torch.get_rng_state()
    dispatcher.generator = torch.Generator().manual_seed(1)
    first = dispatcher(*given)
    assert not equal(dispatcher(*given), first)
    dispatcher.generator = torch.Generator().manual_seed(1)
    assert equal(dispatcher(*given), first) and torch.equal(torch.get_rng_state(), state)
    dispatcher.generator = None
    assert equal(dispatcher(*given, generator=torch.Generator().manual_seed(1)), first)


@pytest.mark.parametrize("name", both())
def test_calls_are_saved_and_read(name: str) -> None:
    dispatcher, given = both()[name]
    with pytest.raises(TypeError, match="params: expected those of a call, got None"):
        K.plain(dispatcher._params)
    outputs = dispatcher(*given)
    params = K.plain(dispatcher._params)
    assert type(params) is list and [type(items) for items in params] == [list] * 3
    read = K.saving.from_json(K.saving.to_json(dispatcher._params))
    assert K.saving.to_json(read) == K.saving.to_json(params)
    for again in (params, saved(params), read):
        assert equal(both()[name][0](*given, params=again), outputs)
        assert equal(dispatcher.inverse(*outputs, params=again), dispatcher.inverse(*outputs))


def test_calls_of_small_containers_are_saved() -> None:
    """Two ops are two pairs in a list, which is no pair; and a container may hold none."""
    views = [K.AugmentationSequential(), K.AugmentationSequential(*(K.RandomHorizontalFlip() for _ in range(2)))]
    dispatcher, image = K.ManyToOneAugmentationDispatcher(*views), values()[0]
    outputs = dispatcher(image)
    params = K.saving.from_json(K.saving.to_json(dispatcher._params))
    assert [len(items) for items in params] == [0, 2]
    again = dispatcher(image, params=params)
    assert torch.equal(again[0], image) and torch.equal(again[1], outputs[1])
    for junk in ([[[["a", {}]]]], [[["a", {}]], "b"], [[["a", {}]], {}], [[["a", {}]], [3]]):
        with pytest.raises(TypeError, match=r"params\[\d\].*: expected a pair \[name, params\]"):
            K.plain(junk)
        with pytest.raises(TypeError, match=r"params\[\d\].*: expected a pair \[name, params\]"):
            K.saving.from_json(json.dumps(junk))


@pytest.mark.parametrize("name", both())
def test_configurations_come_back(name: str) -> None:
    dispatcher, given = both()[name]
    data = json.loads(json.dumps(K.to_dict(dispatcher)))
    ((written, arguments),) = data["pipeline"].items()
    assert written == type(dispatcher).__name__ and [next(iter(op)) for op in arguments["ops"]] == [
        "AugmentationSequential",
        "OneOf",
        "ImageSequential",
    ]
    other = written.replace("Dispather", "Dispatcher")
    for spelled in (data, {"version": 1, "pipeline": {other: arguments}}):
        fresh = K.from_dict(spelled)
        assert type(fresh) is type(dispatcher) and repr(fresh) == repr(dispatcher)
        assert equal(call_seeded(fresh, *given), call_seeded(dispatcher, *given))
        assert K.to_dict(fresh) == data


@pytest.mark.parametrize("name", both())
def test_configurations_are_written_as_yaml(name: str) -> None:
    pytest.importorskip("yaml")
    dispatcher, given = both()[name]
    fresh = K.from_yaml(K.to_yaml(dispatcher))
    assert K.to_dict(fresh) == K.to_dict(dispatcher)
    assert equal(call_seeded(fresh, *given), call_seeded(dispatcher, *given))


def test_configurations_keep_arguments_and_name_paths() -> None:
    class Views(K.ManyToOneAugmentationDispatcher):
        pass

    loose = K.ManyToOneAugmentationDispatcher(*containers(), strict=False)
    assert K.to_dict(loose)["pipeline"]["ManyToOneAugmentationDispather"]["strict"] is False
    assert K.from_dict(K.to_dict(loose)).strict is False
    own = {"Views": Views}
    assert type(K.from_dict(K.to_dict(Views(*containers()), own), own)) is Views
    data = {"version": 1, "pipeline": {"ManyToManyAugmentationDispatcher": {"ops": [{"RandomInvert": {}}]}}}
    with pytest.raises(TypeError, match=r"^pipeline\.ManyToMany.*: augmentations\[0\]: expected an Augmentation"):
        K.from_dict(data)
    data = K.to_dict(loose)
    data["pipeline"]["ManyToOneAugmentationDispather"]["ops"][1]["OneOf"]["ops"][0]["RandomHorizontalFlip"]["q"] = 1
    with pytest.raises(ValueError, match=r"^pipeline\.ops\[1\]\.ops\[0\]\.RandomHorizontalFlip: unknown argument 'q'"):
        K.from_dict(data)


@pytest.mark.parametrize("name", both())
def test_dynamo_dispatcher(name: str, optimizer: str) -> None:
    dispatcher, given = both()[name]
    compiled, seen = torch.compile(dispatcher, fullgraph=True, backend=optimizer), []
    for seed in range(20):
        outputs = call_seeded(compiled, *given, seed=seed)
        params = dispatcher._params
        seen.append(flat(outputs)[0])
        assert graphs() == 1
        expected = call_seeded(dispatcher, *given, seed=seed)
        assert_params_close(params, dispatcher._params)
        for new, old in zip(flat(outputs), flat(expected), strict=True):
            assert_close(new, old, atol=2e-4, rtol=1e-4)
    assert any(not torch.equal(seen[0], other) for other in seen[1:])


def test_bad_dispatchers() -> None:
    many, one = K.ManyToManyAugmentationDispather, K.ManyToOneAugmentationDispather
    with pytest.raises(TypeError, match=r"augmentations\[1\]: expected an AugmentationSequential.*RandomInvert"):
        many(containers()[0], K.RandomInvert())
    with pytest.raises(ValueError, match="input: expected 3 tuples of values, one for each augmentation; got 1"):
        many(*containers())(values())
    with pytest.raises(TypeError, match=r"input\[0\]: expected a tuple of values"):
        many(containers()[0])(3)
    with pytest.raises(ValueError, match="args: expected one value for each of data_keys"):
        many(*containers())(values(), values()[0], values())
    other = K.AugmentationSequential(K.RandomInvert())
    with pytest.raises(ValueError, match=r"augmentations\[1\]: data_keys: expected \['image', 'mask'\].*\['image'\]"):
        one(containers()[0], other)
    one(containers()[0], other, strict=False)
    with pytest.raises(ValueError, match="params: expected 3 lists of items"):
        one(*containers())(*values(), params=[None])
