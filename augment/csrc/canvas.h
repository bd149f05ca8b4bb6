/* Images that are sampled at any place. */

#define MOST_STEPS 32 /* pixels: twice as far as the widest triangle reaches */

/* An image of up to four channels, 32 bits a pixel; in a frame of the fill, and pixels that weigh nothing. */
typedef struct {
    uint32_t *pixels; /* from the frame on, */
    int16_t *deep;    /* or with 16 bits a channel, from -2^15 for 0 to 2^15 for 256 */
    ptrdiff_t height, width, line;
    int padding;
    const float *fill; /* of each channel where bytes do not hold it */
} Canvas;

/* Gather a line of up to four channels as pixels. */
static void pack_line(const byte *from, const Image *image, ptrdiff_t channels, uint32_t *to) {
    ptrdiff_t n = image->width, pixel = image->pixel, i = 0;
    const byte *second = from + image->plane, *third = second + image->plane;
    if (channels == 3 && pixel == 1) {
        for (; i < n; i++) to[i] = from[i] | (uint32_t)second[i] << 8 | (uint32_t)third[i] << 16;
        return;
    }
#ifdef WIDE
    if (channels == 3 && pixel == 3 && image->plane == 1) {
        __m128i spread = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
        for (; i + 6 <= n; i += 4) /* 16 bytes are read for 4 pixels */
            _mm_storeu_si128((__m128i *)(to + i),
                             _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(from + 3 * i)), spread));
    }
#endif
    for (; i < n; i++) {
        to[i] = 0;
        for (ptrdiff_t c = 0; c < channels; c++) to[i] |= (uint32_t)from[i * pixel + c * image->plane] << 8 * c;
    }
}

/* Scatter pixels into a line of up to four channels. */
static void unpack_line(const uint32_t *from, ptrdiff_t n, const Image *out, ptrdiff_t channels, byte *to) {
    ptrdiff_t i = 0;
#ifdef WIDE
    if (channels == 3 && out->pixel == 3 && out->plane == 1) {
        __m128i join = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
        for (; i + 6 <= n; i += 4)
            _mm_storeu_si128((__m128i *)(to + 3 * i),
                             _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(from + i)), join));
    }
#endif
    for (ptrdiff_t c = 0; c < channels; c++) {
        byte *plane = to + c * out->plane;
        if (out->pixel == 1)
            for (ptrdiff_t k = i; k < n; k++) plane[k] = (byte)(from[k] >> 8 * c);
        else
            for (ptrdiff_t k = i; k < n; k++) plane[k * out->pixel] = (byte)(from[k] >> 8 * c);
    }
}

#define HALF_RANGE 32768

/* Means of two numbers, halves upwards or downwards. */
static inline int mean_up(int a, int b) { return (a | b) - ((a ^ b) >> 1); }
static inline int mean_down(int a, int b) { return (a & b) + ((a ^ b) >> 1); }

#ifdef WIDE
static inline __m256i triangle_vector(__m256i a, __m256i b, __m256i c) {
    __m256i up = _mm256_sub_epi16(_mm256_or_si256(a, c), _mm256_srai_epi16(_mm256_xor_si256(a, c), 1));
    return _mm256_add_epi16(_mm256_and_si256(up, b), _mm256_srai_epi16(_mm256_xor_si256(up, b), 1));
}
#endif

/* Blend numbers of three lines, the middle one twice; a mean goes up and the next one down, for both are cut. */
static void blend_triangle(const int16_t *a, const int16_t *b, const int16_t *c, int16_t *to, ptrdiff_t n) {
    ptrdiff_t i = 0;
#ifdef WIDE
    for (; i + 16 <= n; i += 16) {
        __m256i one = _mm256_loadu_si256((const __m256i *)(a + i)), two = _mm256_loadu_si256((const __m256i *)(b + i));
        __m256i three = _mm256_loadu_si256((const __m256i *)(c + i));
        _mm256_storeu_si256((__m256i *)(to + i), triangle_vector(one, two, three));
    }
#endif
    for (; i < n; i++) to[i] = (int16_t)mean_down(mean_up(a[i], c[i]), b[i]);
}

static void widen_line(const uint32_t *from, ptrdiff_t n, int16_t *to) {
    ptrdiff_t i = 0;
#ifdef WIDE
    for (; i + 4 <= n; i += 4) {
        __m256i levels = _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(from + i))), 8);
        levels = _mm256_xor_si256(levels, _mm256_set1_epi16(-HALF_RANGE));
        _mm256_storeu_si256((__m256i *)(to + 4 * i), levels);
    }
#endif
    for (; i < n; i++)
        for (int c = 0; c < 4; c++) to[4 * i + c] = (int16_t)((int)(from[i] >> 8 * c & 255) * 256 - HALF_RANGE);
}

/* Filter a line of n pixels with a triangle ``step`` pixels to either side, which its ends continue. */
static void smooth_line(int16_t *line, ptrdiff_t n, ptrdiff_t step, int16_t *spare) {
    for (ptrdiff_t i = 0; i < 4 * step; i++) {
        spare[i] = line[i % 4];
        spare[4 * (n + step) + i] = line[4 * (n - 1) + i % 4];
    }
    memcpy(spare + 4 * step, line, (size_t)n * 8);
    blend_triangle(spare, spare + 4 * step, spare + 8 * step, line, 4 * n);
}

/* Filter a canvas along y into another. */
static void smooth_lines(const Canvas *canvas, ptrdiff_t step, int16_t *to) {
    ptrdiff_t size = 4 * canvas->line, last = canvas->height - 1;
    for (ptrdiff_t y = 0; y <= last; y++) {
        const int16_t *here = canvas->deep + (y + 1) * size;
        const int16_t *above = here - (y < step ? y : step) * size;
        const int16_t *below = here + (last - y < step ? last - y : step) * size;
        blend_triangle(above + 4, here + 4, below + 4, to + (y + 1) * size + 4, 4 * canvas->width);
    }
}

static void set_deep_frame(Canvas *canvas, const float *fill, ptrdiff_t channels) {
    int16_t level[4] = {0};
    for (ptrdiff_t k = 0; k < channels; k++) level[k] = (int16_t)(int)(least(fill[k], 255) * 256 - HALF_RANGE);
    for (ptrdiff_t y = -1; y < canvas->height + 2; y++) {
        int16_t *line = canvas->deep + (y + 1) * 4 * canvas->line;
        int inside = y >= 0 && y < canvas->height;
        for (ptrdiff_t i = 0; i < canvas->line; i += inside && i == 0 ? canvas->width + 1 : 1)
            memcpy(line + 4 * i, level, sizeof level);
    }
}

/* Fill a canvas of an image's channels from c on that is filtered: ``levels`` times along x and y, ever wider. */
static void set_deep_canvas(Canvas *canvas, int16_t **spare, const Image *image, ptrdiff_t c, ptrdiff_t channels,
                            const int *levels, const float *fill) {
    uint32_t *packed = (uint32_t *)(*spare + 4 * (canvas->width + MOST_STEPS));
    for (ptrdiff_t y = 0; y < canvas->height; y++) {
        int16_t *line = canvas->deep + ((y + 1) * canvas->line + 1) * 4;
        pack_line(image->data + c * image->plane + y * image->line, image, channels, packed);
        widen_line(packed, canvas->width, line);
        for (int k = 0; k < levels[0]; k++) smooth_line(line, canvas->width, (ptrdiff_t)1 << k, *spare);
    }
    for (int k = 0; k < levels[1]; k++) {
        smooth_lines(canvas, (ptrdiff_t)1 << k, *spare);
        int16_t *other = canvas->deep;
        canvas->deep = *spare;
        *spare = other;
    }
    set_deep_frame(canvas, fill + c, channels);
}

/* Fill a canvas of an image's channels from c on, and of its lines from top to before bottom. */
static void set_canvas(Canvas *canvas, const Image *image, ptrdiff_t c, ptrdiff_t channels, ptrdiff_t top,
                       ptrdiff_t bottom, const float *fill) {
    uint32_t level = 0;
    canvas->fill = NULL;
    for (ptrdiff_t k = 0; k < channels; k++) {
        level |= (uint32_t)to_byte(fill[c + k]) << 8 * k;
        if (fill[c + k] != to_byte(fill[c + k])) canvas->fill = fill + c;
    }
    for (ptrdiff_t y = -1; y < canvas->height + 2; y++) {
        uint32_t *line = canvas->pixels + (y + 1) * canvas->line;
        if (y >= top && y < bottom) {
            pack_line(image->data + c * image->plane + y * image->line, image, channels, line + 1);
            line[0] = line[canvas->width + 1] = line[canvas->width + 2] = level;
        } else if (y < 0 || y >= canvas->height)
            for (ptrdiff_t i = 0; i < canvas->line; i++) line[i] = level;
    }
}
