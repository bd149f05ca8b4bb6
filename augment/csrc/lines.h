/* Lines of an image with a border, and the way back: what filters read and write. */

#include <stdlib.h>

enum { CONSTANT, REFLECT, REPLICATE, CIRCULAR }; /* the order of ``BORDERS`` in Python */

/* How an image is taken apart into planes whose neighbours along x lie ``step`` bytes apart. */
typedef struct {
    ptrdiff_t planes, width, step; /* width in bytes */
} Layout;

static inline int interleaved(const Image *image) { return image->plane == 1 && image->pixel == image->channels; }

/* Take an image whose pixels lie side by side as one plane, where that holds for what is written, too. */
static Layout layout_of(const Image *image, const Image *out) {
    if (image->channels > 1 && interleaved(image) && interleaved(out))
        return (Layout){1, image->width * image->channels, image->channels};
    return (Layout){image->channels, image->width, 1};
}

/* Give the place on an axis of n that a place outside of it stands for; -1 where that is zero. */
static inline ptrdiff_t fold(ptrdiff_t i, ptrdiff_t n, int border) {
    if (i >= 0 && i < n) return i;
    if (border == CONSTANT) return -1;
    if (border == REPLICATE) return i < 0 ? 0 : n - 1;
    if (border == CIRCULAR) return i < 0 ? i + n : i - n;
    return i < 0 ? -i : 2 * (n - 1) - i;
}

/* Write a line of a plane, with some pixels of border before and after it, one after the other. */
static void load_line(const Image *image, Layout layout, ptrdiff_t plane, ptrdiff_t y, ptrdiff_t before, ptrdiff_t after,
                      int border, byte *to) {
    ptrdiff_t n = layout.width, step = layout.step, width = n / step;
    y = fold(y, image->height, border);
    if (y < 0) {
        memset(to, 0, (size_t)((before + after) * step + n));
        return;
    }
    const byte *from = image->data + plane * image->plane + y * image->line;
    byte *inner = to + before * step;
    if (step > 1 || image->pixel == 1)
        memcpy(inner, from, (size_t)n);
    else
        for (ptrdiff_t i = 0; i < n; i++) inner[i] = from[i * image->pixel];
    for (ptrdiff_t i = -before; i < width + after; i == -1 ? i = width : i++) {
        ptrdiff_t x = fold(i, width, border);
        for (ptrdiff_t c = 0; c < step; c++) inner[i * step + c] = x < 0 ? 0 : inner[x * step + c];
    }
}

static void store_line(const Image *out, Layout layout, ptrdiff_t plane, ptrdiff_t y, const byte *from) {
    byte *to = out->data + plane * out->plane + y * out->line;
    if (layout.step > 1 || out->pixel == 1)
        memcpy(to, from, (size_t)layout.width);
    else
        for (ptrdiff_t i = 0; i < layout.width; i++) to[i * out->pixel] = from[i];
}
