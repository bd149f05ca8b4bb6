/* All kernels. What defines COMPILED before including this decides for which instruction set they are compiled. */
#include "batch.h"

#include <math.h>

/* Every kernel: nanoseconds for a byte of what it writes, and whether a row of it may be done in bands. */
#define KERNELS                      \
    KERNEL(separable_filter, 0.5, 1) \
    KERNEL(square_filter, 1, 1)      \
    KERNEL(box_blur, 0.5, 1)         \
    KERNEL(sharpen, 0.3, 1)          \
    KERNEL(median_blur, 0.5, 1)      \
    KERNEL(zoom_blur, 5, 0)          \
    KERNEL(disk_blur, 3, 0)          \
    KERNEL(permute, 0.1, 1)          \
    KERNEL(resize, 0.4, 1)           \
    KERNEL(warp, 0.8, 1)             \
    KERNEL(displace, 1, 1)           \
    KERNEL(displace_lines, 1, 1)     \
    KERNEL(jpeg, 1.6, 0)             \
    KERNEL(downscale, 0.2, 0)        \
    KERNEL(recolour, 0.3, 1)         \
    KERNEL(fill_meetings, 0.2, 1)    \
    KERNEL(equalize, 0.8, 0)         \
    KERNEL(clahe, 3, 0)

#ifdef COMPILED
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
#include "tone/tone.h"
#include "warp/places.h"
#include "colour/blocks.h"
#include "warp/resize.h"
#include "canvas.h"
#include "warp/warp.h"
#include "blur/median.h"
#include "blur/filter.h"
#include "blur/box.h"
#include "compression/jpeg.h"
#include "compression/downscale.h"
#include "histogram/histogram.h"
#include "histogram/clahe.h"
#include "colour/recolour.h"
#include "blur/zoom.h"
#include "blur/disk.h"
#include "dropout/fill.h"

#endif
