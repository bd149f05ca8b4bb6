/* Changes of place: lines turned round, and axes exchanged. Strides count bytes here, and may be negative. */

#include <math.h>

/* Copy n pixels of ``size`` bytes, 1 or 3, which lie side by side, the last first. */
static inline void copy_reversed(const byte *from, byte *to, ptrdiff_t n, ptrdiff_t size) {
    ptrdiff_t i = 0;
#ifdef WIDE
    __m128i threes = _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0);
    __m128i ones = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    ptrdiff_t step = size == 1 ? 16 : 5;
    for (; size == 1 && n - i >= 32; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(from + n - i - 32));
        bytes = _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(ones));
        _mm256_storeu_si256((__m256i *)(to + i), _mm256_permute2x128_si256(bytes, bytes, 1));
    }
    for (; (n - i) * size >= 16; i += step) { /* what is written beyond the step is written again */
        __m128i bytes = _mm_loadu_si128((const __m128i *)(from + (n - i) * size - 16));
        _mm_storeu_si128((__m128i *)(to + i * size), _mm_shuffle_epi8(bytes, size == 1 ? ones : threes));
    }
#elif defined(__GNUC__)
    for (; size == 1 && n - i >= 8; i += 8) {
        uint64_t bytes;
        memcpy(&bytes, from + n - i - 8, 8);
        bytes = __builtin_bswap64(bytes);
        memcpy(to + i, &bytes, 8);
    }
#endif
    for (; i < n; i++)
        if (size == 3 && i > 0 && i < n - 1)
            memcpy(to + 3 * i, from + 3 * (n - 1 - i), 4); /* the fourth byte is written again */
        else
            for (ptrdiff_t k = 0; k < size; k++) to[i * size + k] = from[(n - 1 - i) * size + k];
}

static inline void copy_spaced(const byte *from, ptrdiff_t step, byte *to, ptrdiff_t to_step, ptrdiff_t n,
                               ptrdiff_t size) {
    for (ptrdiff_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * step, (size_t)size);
}

/* Copy n pixels of ``size`` bytes that lie evenly apart. */
static void copy_pixels(const byte *from, ptrdiff_t step, byte *to, ptrdiff_t to_step, ptrdiff_t n, ptrdiff_t size) {
    int dense = to_step == size, backwards = dense && step == -size; /* loops with constants are unrolled */
    if (dense && step == size)
        memcpy(to, from, (size_t)(n * size));
    else if (backwards && size == 1)
        copy_reversed(from - (n - 1), to, n, 1);
    else if (backwards && size == 3)
        copy_reversed(from - (n - 1) * 3, to, n, 3);
    else if (backwards && size == 2)
        copy_spaced(from, -2, to, 2, n, 2);
    else if (backwards && size == 4)
        copy_spaced(from, -4, to, 4, n, 4);
    else if (size == 1)
        copy_spaced(from, step, to, to_step, n, 1);
    else if (size == 4)
        copy_spaced(from, step, to, to_step, n, 4);
    else if (size == 8)
        copy_spaced(from, step, to, to_step, n, 8);
    else
        copy_spaced(from, step, to, to_step, n, size);
}

/* Exchange axes by stripes whose lines in the input fit the nearest cache. */
static inline void exchange_stripes(const Image *image, const Image *out, const byte *from, byte *to,
                                    ptrdiff_t size) {
    for (ptrdiff_t start = 0; start < out->width; start += 32) {
        ptrdiff_t stop = start + 32 < out->width ? start + 32 : out->width;
        for (ptrdiff_t y = 0; y < out->height; y++)
            for (ptrdiff_t x = start; x < stop; x++)
                for (ptrdiff_t k = 0; k < size; k++)
                    to[y * out->line + x * size + k] = from[y * image->line + x * image->pixel + k];
    }
}

#ifdef WIDE
/* Exchange rows and columns of 16 x 16 bytes, by halves. */
static inline void exchange_block(const byte *from, ptrdiff_t step, byte *to, ptrdiff_t line) {
    __m128i one[16], other[16];
    for (int k = 0; k < 16; k++) one[k] = _mm_loadu_si128((const __m128i *)(from + k * step));
    for (int round = 0; round < 4; round++) {
        for (int k = 0; k < 8; k++) {
            other[2 * k] = _mm_unpacklo_epi8(one[k], one[k + 8]);
            other[2 * k + 1] = _mm_unpackhi_epi8(one[k], one[k + 8]);
        }
        memcpy(one, other, sizeof one);
    }
    for (int k = 0; k < 16; k++) _mm_storeu_si128((__m128i *)(to + k * line), one[k]);
}

/* Give four pixels of three bytes, each in 32 bits, without a read beyond ``end``. */
static inline __m128i load_threes(const byte *from, const byte *end) {
    __m128i spread = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    if (end - from >= 16) return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)from), spread);
    __m128i bytes = _mm_srli_si128(_mm_loadu_si128((const __m128i *)(from - 4)), 4);
    return _mm_shuffle_epi8(bytes, spread);
}

static inline void store_threes(__m128i pixels, byte *to) {
    __m128i join = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    __m128i bytes = _mm_shuffle_epi8(pixels, join);
    int last = _mm_extract_epi32(bytes, 2);
    _mm_storel_epi64((__m128i *)to, bytes);
    memcpy(to + 8, &last, 4);
}

/* Exchange rows and columns of 4 x 4 pixels of three bytes. */
static inline void exchange_threes(const byte *from, ptrdiff_t step, const byte *end, byte *to, ptrdiff_t line) {
    __m128i a = load_threes(from, end), b = load_threes(from + step, end);
    __m128i c = load_threes(from + 2 * step, end), d = load_threes(from + 3 * step, end);
    __m128i low = _mm_unpacklo_epi32(a, b), high = _mm_unpackhi_epi32(a, b);
    __m128i next = _mm_unpacklo_epi32(c, d), last = _mm_unpackhi_epi32(c, d);
    store_threes(_mm_unpacklo_epi64(low, next), to);
    store_threes(_mm_unpackhi_epi64(low, next), to + line);
    store_threes(_mm_unpacklo_epi64(high, last), to + 2 * line);
    store_threes(_mm_unpackhi_epi64(high, last), to + 3 * line);
}
#endif

/* Copy a plane whose columns lie side by side in the input, by blocks, of which the last overlap others. */
static void exchange(const Image *image, const Image *out, const byte *from, byte *to, const byte *end,
                     ptrdiff_t size) {
#ifdef WIDE
    ptrdiff_t n = size == 1 ? 16 : 4, height = out->height, width = out->width;
    if (height >= n && width >= n && (size == 1 || (size == 3 && height * width > 16))) {
        int down = image->line > 0;
        for (ptrdiff_t block = 0; block < height; block += n)
            for (ptrdiff_t x = 0; x < width; x += n) {
                ptrdiff_t y = block + n > height ? height - n : block;
                if (x + n > width) x = width - n;
                const byte *first = from + x * image->pixel + (down ? y : y + n - 1) * image->line;
                byte *target = to + (down ? y : y + n - 1) * out->line + x * size;
                if (size == 1)
                    exchange_block(first, image->pixel, target, down ? out->line : -out->line);
                else
                    exchange_threes(first, image->pixel, end, target, down ? out->line : -out->line);
            }
        return;
    }
#endif
    (void)end;
    if (size == 1) /* loops with constants are unrolled */
        exchange_stripes(image, out, from, to, 1);
    else if (size == 4)
        exchange_stripes(image, out, from, to, 4);
    else
        exchange_stripes(image, out, from, to, size);
}

/* Where the places of an axis lie on another: t at ``step * t + offset``, which is one of ``size`` pixels
   from ``start`` to before ``stop``. */
typedef struct {
    ptrdiff_t step, offset, size, start, stop;
} Track;

static ptrdiff_t cut_to(ptrdiff_t value, ptrdiff_t low, ptrdiff_t high) {
    return value < low ? low : value > high ? high : value;
}

static Track track_of(double step, double offset, ptrdiff_t size, ptrdiff_t first, ptrdiff_t last) {
    double far = 1e9;
    offset = offset > -far ? offset < far ? offset : far : -far; /* nor is it a number then, maybe */
    Track t = {step > 0 ? 1 : -1, (ptrdiff_t)rint(offset), size, 0, 0};
    t.start = cut_to(step > 0 ? -t.offset : t.offset - size + 1, first, last);
    t.stop = cut_to(step > 0 ? size - t.offset : t.offset + 1, t.start, last);
    return t;
}

enum { SYMMETRIC = CIRCULAR + 1 };

/* Bring any place back onto an axis; -1 where there is nothing but the fill. */
static ptrdiff_t fold_far(ptrdiff_t i, ptrdiff_t n, int border) {
    if (i >= 0 && i < n) return i;
    if (border == CONSTANT) return -1;
    if (border == REPLICATE) return i < 0 ? 0 : n - 1;
    ptrdiff_t period = border == CIRCULAR ? n : border == SYMMETRIC ? 2 * n : n > 1 ? 2 * n - 2 : 1;
    i = (i % period + period) % period;
    if (border == CIRCULAR || i < n) return i;
    return border == SYMMETRIC ? period - 1 - i : period - i;
}

/* Write n pixels beside what is copied, of a line of the input or of nothing but the fill. */
static void fill_beside(const byte *line, ptrdiff_t step, Track x, ptrdiff_t start, ptrdiff_t stop, int border,
                        const byte *fill, byte *to, ptrdiff_t to_step, ptrdiff_t size) {
    for (ptrdiff_t i = start; i < stop; i++) {
        ptrdiff_t at = line ? fold_far(x.step * i + x.offset, x.size, border) : -1;
        memcpy(to + i * to_step, at < 0 ? fill : line + at * step, (size_t)size);
    }
}

/* Fill or continue what lies beside the part of a plane that is copied, strides in bytes. */
static void surround(const Image *image, const Image *out, Track y, Track x, ptrdiff_t first, ptrdiff_t last,
                     int border, const byte *fill, ptrdiff_t size) {
    int even = out->pixel == size;
    for (ptrdiff_t k = 1; k < size; k++) even &= fill[k] == fill[0];
    for (ptrdiff_t t = first; t < last; t++) {
        ptrdiff_t at = fold_far(y.step * t + y.offset, y.size, border);
        const byte *line = at < 0 ? NULL : image->data + at * image->line;
        byte *to = out->data + t * out->line;
        ptrdiff_t start = t < y.start || t >= y.stop ? out->width : x.start, stop = start < x.stop ? x.stop : start;
        if (line && start > x.start && x.start < x.stop) { /* continued: what is copied of another line */
            const byte *from = line + (x.step * x.start + x.offset) * image->pixel;
            copy_pixels(from, x.step * image->pixel, to + x.start * out->pixel, out->pixel, x.stop - x.start, size);
            start = x.start, stop = x.stop;
        }
        if (even && border == CONSTANT) {
            memset(to, fill[0], (size_t)(start * size));
            memset(to + stop * size, fill[0], (size_t)((out->width - stop) * size));
            continue;
        }
        fill_beside(line, image->pixel, x, 0, start, border, fill, to, out->pixel, size);
        fill_beside(line, image->pixel, x, stop, out->width, border, fill, to, out->pixel, size);
    }
}

/* Copy the part of a plane that lies on the input, strides in bytes. */
static void move_part(const Image *image, const Image *out, Track y, Track x, ptrdiff_t size) {
    Image part = *out, from = *image;
    part.height = y.stop - y.start, part.width = x.stop - x.start;
    part.data += y.start * out->line + x.start * out->pixel;
    from.line *= y.step, from.pixel *= x.step;
    const byte *source = image->data + (y.step * y.start + y.offset) * image->line +
                         (x.step * x.start + x.offset) * image->pixel;
    const byte *end = image->data + (y.size - 1) * image->line + (x.size - 1) * image->pixel + size;
    if (out->pixel == size && image->pixel != size && image->line == size)
        exchange(&from, &part, source, part.data, end, size);
    else
        for (ptrdiff_t t = 0; t < part.height; t++)
            copy_pixels(source + t * from.line, from.pixel, part.data + t * out->line, out->pixel, part.width, size);
}

static Image in_bytes(Image image, ptrdiff_t size) {
    image.plane *= size, image.line *= size, image.pixel *= size;
    return image;
}

/* Move whole pixels by the first two rows of the matrix from output to input; ``fill`` has 16 bytes a channel. */
static void move_pixels(const Job *job, const double *back, int border, const byte *fill, ptrdiff_t size) {
    Image image = in_bytes(job->image, size), out = in_bytes(job->out, size);
    int turned = fabs(back[1]) > 0.5, together = 0;
    if (turned) {
        image.height = job->image.width, image.width = job->image.height;
        image.line = job->image.pixel * size, image.pixel = job->image.line * size;
    }
    Track y = track_of(back[turned ? 1 : 4], back[turned ? 2 : 5], image.height, job->first, job->last);
    Track x = track_of(back[turned ? 3 : 0], back[turned ? 5 : 2], image.width, 0, out.width);
    int whole = y.start == job->first && y.stop == job->last && x.start == 0 && x.stop == out.width;
    byte level[16];
    memcpy(level, fill, sizeof level);
    if (size == 1 && out.channels == 3 && image.plane == 1 && out.plane == 1 && out.pixel == 3) {
        together = 1, size = 3;
        for (int c = 0; c < 3; c++) level[c] = fill[16 * c];
    }
    for (ptrdiff_t c = 0; c < (together ? 1 : out.channels); c++, image.data += image.plane, out.data += out.plane) {
        if (!together) memcpy(level, fill + 16 * c, sizeof level);
        if (y.start < y.stop && x.start < x.stop) move_part(&image, &out, y, x, size);
        if (!whole) surround(&image, &out, y, x, job->first, job->last, border, level, size);
    }
}

typedef struct {
    int32_t border, size; /* bytes of an element */
    byte fill[];
} Moving;

/* Flip, turn, shift, crop or pad an image by a matrix from input to output. */
static int permute(const Job *job) {
    const Moving *moving = job->config;
    const double *m = job->params; /* axes keep their length: the inverse of the linear part is the transpose */
    double back[6] = {m[0], m[3], -(m[0] * m[2] + m[3] * m[5]), m[1], m[4], -(m[1] * m[2] + m[4] * m[5])};
    move_pixels(job, back, moving->border, moving->fill, moving->size);
    return 1;
}
