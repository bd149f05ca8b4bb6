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

#endif
