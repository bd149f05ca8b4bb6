/* What the kernels take: bytes of one image, and where they lie. */
#ifndef AUGMENT_IMAGE_H
#define AUGMENT_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t byte;

typedef struct {
    byte *data;
    ptrdiff_t channels, height, width;
    ptrdiff_t plane, line, pixel; /* elements from one to the next */
} Image;

typedef struct {
    float *data;
    ptrdiff_t channels, height, width;
    ptrdiff_t plane, line, pixel;
} Floats;

/* Position t of the output takes ``factor * t + offset`` of a window of an axis, counted from its ``start``. */
typedef struct {
    double factor, offset;
    ptrdiff_t start, size;
} Axis;

/* The kernels, each once for every instruction set. */
typedef struct {
    int (*resample_axes)(const Image *image, const Image *out, const Axis *axes, int padding, const float *fill);
    int (*warp)(const Image *image, const Image *out, const double *matrix, int projective, const Floats *field,
                const int *levels, int padding, const float *fill);
    int (*jpeg)(const Image *image, const Image *out, const float *tables);
    int (*downscale)(const Image *image, const Image *out, ptrdiff_t h, ptrdiff_t w, int down, int up);
    int (*rearrange)(const Image *image, const Image *out, int flip_y, int flip_x);
} Kernels;

extern const Kernels kernels_base;
#if defined(__x86_64__) && defined(__GNUC__)
extern const Kernels kernels_avx2;
#endif

#endif
