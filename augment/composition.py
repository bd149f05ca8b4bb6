"""What a row of a mix is put together from: the compositions that a ``Mix`` of one's own may say."""

from .maps.composition import Blend, Collage, Composition, Paste, Stencil

__all__ = ["Blend", "Collage", "Composition", "Paste", "Stencil"]
