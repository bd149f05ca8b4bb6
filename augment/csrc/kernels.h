/* All kernels: what includes this decides for which instruction set they are compiled. */
#include "image.h"

static inline float least(float a, float b) { return a < b ? a : b; }
static inline float most(float a, float b) { return a > b ? a : b; }

#define ROUNDING 12582912.0f /* 1.5 * 2^23: a small number added to it loses its fraction, halves to even */

/* Round to the nearest whole number, halves to even, and cut to a byte. */
static inline byte to_byte(float value) {
    union {
        float number;
        int32_t bits;
    } sum = {.number = least(most(value, 0), 255) + ROUNDING};
    return (byte)sum.bits;
}

#include "vectors.h"
#include "lines.h"
#include "tone.h"
#include "colour.h"
#include "resize.h"
#include "canvas.h"
#include "warp.h"
#include "places.h"
#include "median.h"
#include "filter.h"
#include "box.h"
#include "jpeg.h"
#include "downscale.h"
#include "histogram.h"
#include "clahe.h"
#include "zoom.h"
#include "disk.h"

#define KERNELS                                                                                             \
    {                                                                                                       \
        .look_up = look_up, .linear_levels = linear_levels, .look_up_floats = look_up_floats,               \
        .adjust_colour = adjust_colour,                                                                     \
        .resample_axes = resample_axes, .warp = warp,                                                       \
        .median = median, .filter = filter, .box = box, .sharpen = sharpen, .jpeg = jpeg,                   \
        .downscale = downscale, .rearrange = rearrange, .equalize = equalize, .stretch = stretch,           \
        .clahe = clahe, .zoom_blur = zoom_blur, .disk_blur = disk_blur,                                     \
    }
