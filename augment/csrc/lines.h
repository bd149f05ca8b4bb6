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

#ifdef WIDE
/* Say which byte of a part of 48 bytes, which are three parts, goes where among 16 pixels of a channel. */
static inline __m128i picking(int channel, int part) {
    enum { N = 128 }; /* of another part */
    static const byte places[9][16] = {
        {0, 3, 6, 9, 12, 15, N, N, N, N, N, N, N, N, N, N},
        {N, N, N, N, N, N, 2, 5, 8, 11, 14, N, N, N, N, N},
        {N, N, N, N, N, N, N, N, N, N, N, 1, 4, 7, 10, 13},
        {1, 4, 7, 10, 13, N, N, N, N, N, N, N, N, N, N, N},
        {N, N, N, N, N, 0, 3, 6, 9, 12, 15, N, N, N, N, N},
        {N, N, N, N, N, N, N, N, N, N, N, 2, 5, 8, 11, 14},
        {2, 5, 8, 11, 14, N, N, N, N, N, N, N, N, N, N, N},
        {N, N, N, N, N, 1, 4, 7, 10, 13, N, N, N, N, N, N},
        {N, N, N, N, N, N, N, N, N, N, 0, 3, 6, 9, 12, 15},
    };
    return _mm_loadu_si128((const __m128i *)places[3 * channel + part]);
}
#endif

/* Read a line of one channel. */
static void pick_line(const Image *image, ptrdiff_t channel, ptrdiff_t y, byte *restrict to) {
    const byte *from = image->data + channel * image->plane + y * image->line;
    ptrdiff_t i = 0, n = image->width, pixel = image->pixel;
    if (pixel == 1) {
        memcpy(to, from, (size_t)n);
        return;
    }
#ifdef WIDE
    const byte *first = from - channel; /* no byte beside the line is read */
    for (; interleaved(image) && pixel == 3 && i + 16 <= n; i += 16) {
        __m128i found = _mm_setzero_si128();
        for (int part = 0; part < 3; part++) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(first + 3 * i + 16 * part));
            found = _mm_or_si128(found, _mm_shuffle_epi8(bytes, picking((int)channel, part)));
        }
        _mm_storeu_si128((__m128i *)(to + i), found);
    }
#endif
    for (; i < n; i++) to[i] = from[i * pixel];
}

/* Give a line of a plane: in its place where its bytes lie side by side, else in ``room``. */
static const byte *line_of(const Image *image, Layout layout, ptrdiff_t plane, ptrdiff_t y, byte *room) {
    if (layout.step > 1 || image->pixel == 1) return image->data + plane * image->plane + y * image->line;
    pick_line(image, plane, y, room);
    return room;
}

/* Write a line of a plane, with some pixels of border before and after it, one after the other. */
static void load_line(const Image *image, Layout layout, ptrdiff_t plane, ptrdiff_t y, ptrdiff_t before,
                      ptrdiff_t after, int border, byte *to) {
    ptrdiff_t n = layout.width, step = layout.step, width = n / step;
    y = fold(y, image->height, border);
    if (y < 0) {
        memset(to, 0, (size_t)((before + after) * step + n));
        return;
    }
    byte *inner = to + before * step;
    if (step > 1)
        memcpy(inner, image->data + y * image->line, (size_t)n);
    else
        pick_line(image, plane, y, inner);
    for (ptrdiff_t i = before ? -before : width; i < width + after; i == -1 ? i = width : i++) {
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

#ifdef WIDE
/* Say which pixel of a line lies where in 16 of 48 bytes, for each of three lines in each of three parts. */
static inline __m128i interleaving(int which) {
    enum { N = 128 }; /* of another line */
    static const byte places[9][16] = {
        {0, N, N, 1, N, N, 2, N, N, 3, N, N, 4, N, N, 5},
        {N, 0, N, N, 1, N, N, 2, N, N, 3, N, N, 4, N, N},
        {N, N, 0, N, N, 1, N, N, 2, N, N, 3, N, N, 4, N},
        {N, N, 6, N, N, 7, N, N, 8, N, N, 9, N, N, 10, N},
        {5, N, N, 6, N, N, 7, N, N, 8, N, N, 9, N, N, 10},
        {N, 5, N, N, 6, N, N, 7, N, N, 8, N, N, 9, N, N},
        {N, 11, N, N, 12, N, N, 13, N, N, 14, N, N, 15, N, N},
        {N, N, 11, N, N, 12, N, N, 13, N, N, 14, N, N, 15, N},
        {10, N, N, 11, N, N, 12, N, N, 13, N, N, 14, N, N, 15},
    };
    return _mm_loadu_si128((const __m128i *)places[which]);
}
#endif

/* Write three lines as one whose pixels lie side by side. */
static void interleave(const byte *a, const byte *b, const byte *c, byte *restrict to, ptrdiff_t n) {
    ptrdiff_t i = 0;
#ifdef WIDE
    for (; i + 16 <= n; i += 16) {
        __m128i lines[3];
        const byte *from[3] = {a + i, b + i, c + i};
        for (int k = 0; k < 3; k++) lines[k] = _mm_loadu_si128((const __m128i *)from[k]);
        for (int part = 0; part < 3; part++) {
            __m128i all = _mm_shuffle_epi8(lines[0], interleaving(3 * part));
            for (int k = 1; k < 3; k++) all = _mm_or_si128(all, _mm_shuffle_epi8(lines[k], interleaving(3 * part + k)));
            _mm_storeu_si128((__m128i *)(to + 3 * i + 16 * part), all);
        }
    }
#endif
    for (; i < n; i++) to[3 * i] = a[i], to[3 * i + 1] = b[i], to[3 * i + 2] = c[i];
}

/* Write a line of all channels, which are ``pitch`` bytes apart. */
static void store_channels(const Image *out, ptrdiff_t y, const byte *lines, ptrdiff_t pitch) {
    if (interleaved(out) && out->channels == 3)
        interleave(lines, lines + pitch, lines + 2 * pitch, out->data + y * out->line, out->width);
    else
        for (ptrdiff_t c = 0; c < out->channels; c++)
            store_line(out, (Layout){out->channels, out->width, 1}, c, y, lines + c * pitch);
}
