"""The references of all families, further arguments for parity, and the intended differences."""

from . import (
    affine,
    blur,
    channels,
    colour,
    compression,
    crop,
    deform,
    detection,
    dropout,
    erase,
    flip,
    illumination,
    jitter,
    noise,
    pad,
    plasma,
    sharpen,
    tone,
    weather,
)

FAMILIES = (
    affine,
    blur,
    channels,
    colour,
    compression,
    crop,
    deform,
    detection,
    dropout,
    erase,
    flip,
    illumination,
    jitter,
    noise,
    pad,
    plasma,
    sharpen,
    tone,
    weather,
)
REFERENCES, MORE, INTENDED = {}, {}, {}
for family in FAMILIES:
    REFERENCES.update(family.REFERENCES)
    MORE.update(getattr(family, "MORE", {}))
    INTENDED.update(getattr(family, "INTENDED", {}))
