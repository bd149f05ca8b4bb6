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

/* One adjustment of ``adjust_colour``. */
enum { SCALE, BLEND_MEAN, BLEND_LUMA, ROTATE_HUE, ADD, SCALE_SATURATION };
typedef struct {
    float kind, factor;
} Step;

/* The kernels, each once for every instruction set. */
typedef struct {
    void (*look_up)(const Image *image, const Image *out, const byte *tables, ptrdiff_t count);
    void (*linear_levels)(const Image *image, const Image *out, const float *lines, ptrdiff_t count);
    void (*look_up_floats)(const Image *image, const Floats *out, const float *tables);
    void (*adjust_colour)(const Image *image, const Image *out, const Floats *wide, const Step *steps, ptrdiff_t count,
                          const float *shares, ptrdiff_t share_width);
    int (*equalize)(const Image *image, const Image *out);
    int (*stretch)(const Image *image, const Image *out);
    int (*clahe)(const Image *image, const Image *out, ptrdiff_t rows, ptrdiff_t columns, double limit);
} Kernels;

extern const Kernels kernels_base;
#if defined(__x86_64__) && defined(__GNUC__)
extern const Kernels kernels_avx2;
#endif

#endif
