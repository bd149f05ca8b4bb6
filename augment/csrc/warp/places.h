/* Changes of place: lines turned round, and axes exchanged. Strides may be negative here. */

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

/* Copy a plane of pixels of ``size`` bytes; lines of the input are forwards or backwards. */
static void copy_lines(const Image *image, const Image *out, const byte *from, byte *to, ptrdiff_t size) {
    for (ptrdiff_t y = 0; y < out->height; y++, from += image->line, to += out->line)
        if (image->pixel > 0)
            memcpy(to, from, (size_t)(out->width * size));
        else if (size == 1)
            copy_reversed(from - (out->width - 1), to, out->width, 1);
        else
            copy_reversed(from - (out->width - 1) * 3, to, out->width, 3);
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
    if (height >= n && width >= n && (size == 1 || height * width > 16)) {
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
    else
        exchange_stripes(image, out, from, to, 3);
}

/* Copy an image turned round along axes; its strides may be those of an image whose axes are exchanged.

   Says whether it is laid out so that this is done. */
static int rearrange(const Image *image, const Image *out, int flip_y, int flip_x) {
    int together = image->channels == 3 && image->plane == 1 && out->plane == 1;
    ptrdiff_t size = together ? 3 : 1, c = 0;
    const byte *end = image->data + (image->height - 1) * image->line + (image->width - 1) * image->pixel + size;
    if (out->pixel != size || (image->pixel != size && image->line != size)) return 0;
    Image from = *image;
    if (flip_y) from.data += (from.height - 1) * from.line, from.line = -from.line;
    if (flip_x) from.data += (from.width - 1) * from.pixel, from.pixel = -from.pixel;
    do {
        const byte *start = from.data + c * image->plane;
        if (image->pixel == size)
            copy_lines(&from, out, start, out->data + c * out->plane, size);
        else
            exchange(&from, out, start, out->data + c * out->plane, end, size);
    } while (++c < image->channels && !together);
    return 1;
}
