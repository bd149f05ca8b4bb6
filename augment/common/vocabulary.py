"""The words for how pixels are taken and what lies beside an image."""

RESAMPLE = ("nearest", "bilinear", "bicubic")
BORDERS = ("constant", "reflect", "replicate", "circular")  # of filters
PADDING = ("zeros", "border", "reflection", "fill")  # of warps that interpolate
BORDER_MODES = (*PADDING[:3], *BORDERS, "symmetric")  # of warps of any kind
WHOLE_PIXELS = {"zeros": "constant", "fill": "constant", "border": "replicate", "reflection": "symmetric"}
CROPPING = ("slice", "resample")
DOWN = ("nearest", "bilinear", "area")
UP = ("nearest", "bilinear")
