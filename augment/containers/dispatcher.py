"""Dispatchers: several containers in one call, each on inputs of its own or all on the same."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..common.arguments import switch
from ..kinds.recorded import Recorded
from ..sampling.items import ParamItem, drawn
from ..targets import tv
from ..targets.target import Value
from .sequential import AugmentationSequential


class Dispatcher(Recorded, nn.Module):
    """Base class of the dispatchers: containers that are called one after the other.

    Attributes:
        augmentations: the containers.
        _params: those of the last call, a list for each container.
    """

    def __init__(self, *augmentations: AugmentationSequential) -> None:
        super().__init__()
        for i, container in enumerate(augmentations):
            if not isinstance(container, AugmentationSequential):
                raise TypeError(
                    f"augmentations[{i}]: expected an AugmentationSequential, or a container like it, got {container!r}"
                )
        self.augmentations = nn.ModuleList(augmentations)
        self._params: list[list[ParamItem] | None] | None = None

    def _containers(self) -> list[AugmentationSequential]:
        return [container for container in self.augmentations if isinstance(container, AugmentationSequential)]

    def forward(
        self,
        *input: Value,
        params: Sequence[Sequence[ParamItem]] | None = None,
        generator: torch.Generator | None = None,
    ) -> list[Any]:
        """Augment what each container is given.

        Args:
            *input: for ``ManyToMany`` a tuple of values, a tensor or a dict for each container; for ``ManyToOne`` the
                values of the data keys, or one dict.
            params: parameters to use instead of drawing them, such as ``_params`` of an earlier call.
            generator: where to draw from in this call (eager only; set ``generator`` for compiled calls).

        Returns:
            A list of what the containers give.
        """
        outputs, used, after = [], [], []
        for container, values, replayed in zip(self._containers(), self.inputs(input), self._each(params), strict=True):
            if tv.found(values):
                outputs.append(container(*values, params=replayed, generator=generator))
            else:
                outputs.append(container.augment(values, replayed, generator=generator, after=after))
            used.append(container._params)
            after = [*after, *drawn(container._params)]
        self._params = used
        return outputs

    def inputs(self, input: Sequence[Value]) -> Sequence[Sequence[Value]]:
        """What each container is given of the input of a call."""
        return self._bundles(input)

    def _each(self, params: Sequence[Any] | None) -> Sequence[Any]:
        """The parameters of every container, None for those to draw."""
        count = len(self.augmentations)
        if params is not None and not isinstance(params, (list, tuple)):
            raise TypeError(f"params: expected a list with that of each augmentation, got {params!r:.80}")
        if params is not None and len(params) != count:
            raise ValueError(f"params: expected {count} lists of items, one for each augmentation; got {len(params)}")
        return [None] * count if params is None else params

    def inverse(self, *outputs: Value, params: Sequence[Sequence[ParamItem]] | None = None) -> list[Any]:
        """Lead the outputs of all containers back.

        Args:
            *outputs: what came of each container, in their order.
            params: the parameters of the call; None for the last one.
        """
        chosen = self._params if params is None else params
        if chosen is None:
            raise ValueError(f"{type(self).__name__}: params: expected a call before, or the params of one")
        bundles, containers = self._bundles(outputs), self._containers()
        steps = zip(containers, bundles, self._each(chosen), strict=True)
        return [container.inverse(*values, params=items) for container, values, items in steps]

    def _bundles(self, input: Sequence[Value]) -> list[Sequence[Value]]:
        """Take one tuple of values, a tensor or a dict, for each container."""
        count = len(self.augmentations)
        if len(input) != count:
            raise ValueError(f"input: expected {count} tuples of values, one for each augmentation; got {len(input)}")
        bundles = []
        for i, values in enumerate(input):
            if not isinstance(values, (Tensor, Mapping, list, tuple)):
                raise TypeError(f"input[{i}]: expected a tuple of values, a tensor or a dict, got {values!r:.80}")
            bundles.append((values,) if isinstance(values, (Tensor, Mapping)) else tuple(values))
        return bundles

    @property
    def generator(self) -> torch.Generator | None:
        """Where all containers draw from; None for the default generator of the image's device."""
        containers = self._containers()
        return containers[0].generator if containers else None

    @generator.setter
    def generator(self, generator: torch.Generator | None) -> None:
        for container in self._containers():
            container.generator = generator


class ManyToManyAugmentationDispather(Dispatcher):
    """Call every container with inputs of its own.

    The name is kornia's; ``ManyToManyAugmentationDispatcher`` is the same class.

    Args:
        *augmentations: ``AugmentationSequential`` or containers like it; they draw independently of each other.

    Example:
        >>> flip, invert = AugmentationSequential(RandomHorizontalFlip()), AugmentationSequential(RandomInvert())
        >>> images = ManyToManyAugmentationDispather(flip, invert)(torch.rand(2, 3, 8, 8), torch.rand(4, 1, 6, 6))
    """


class ManyToOneAugmentationDispather(Dispatcher):
    """Call every container with the same input, for several views of it.

    The name is kornia's; ``ManyToOneAugmentationDispatcher`` is the same class.

    Args:
        *augmentations: ``AugmentationSequential`` or containers like it; they draw independently of each other.
        strict: require the same ``data_keys`` of all.

    Example:
        >>> views = [AugmentationSequential(RandomHorizontalFlip()) for _ in range(2)]
        >>> one, other = ManyToOneAugmentationDispather(*views)(torch.rand(2, 3, 8, 8))
    """

    def __init__(self, *augmentations: AugmentationSequential, strict: bool = True) -> None:
        super().__init__(*augmentations)
        self.strict = switch(strict, "strict")
        keys = [container.data_keys for container in self._containers()]
        for i, other in enumerate(keys):
            if self.strict and other != keys[0]:
                raise ValueError(f"augmentations[{i}]: data_keys: expected {keys[0]}, as the first has; got {other}")

    def inputs(self, input: Sequence[Value]) -> Sequence[Sequence[Value]]:
        return [input] * len(self.augmentations)


ManyToManyAugmentationDispatcher = ManyToManyAugmentationDispather
ManyToOneAugmentationDispatcher = ManyToOneAugmentationDispather
