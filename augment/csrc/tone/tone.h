/* Tables of bytes. */

#ifdef WIDE
/* Look up 32 bytes: sixteen parts of the table by the lower bits of a byte, of which its upper bits choose one. */
static inline __m256i look_up_vector(__m256i index, const byte *table) {
    __m256i low = _mm256_and_si256(index, _mm256_set1_epi8(15)), found[16];
    __m256i choice = index;
    for (int k = 0; k < 16; k++) {
        __m256i part = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + 16 * k)));
        found[k] = _mm256_shuffle_epi8(part, low);
    }
    for (int n = 8; n >= 1; n /= 2, choice = _mm256_add_epi8(choice, choice))
        for (int k = 0; k < n; k++) found[k] = _mm256_blendv_epi8(found[k], found[k + n], choice);
    return found[0];
}
#endif

static void look_up_line(const byte *from, byte *to, ptrdiff_t n, const byte *table) {
    ptrdiff_t i = 0;
#ifdef WIDE
    for (; i + 32 <= n; i += 32) {
        __m256i index = _mm256_loadu_si256((const __m256i *)(from + i));
        _mm256_storeu_si256((__m256i *)(to + i), look_up_vector(index, table));
    }
#endif
    for (; i < n; i++) to[i] = table[from[i]];
}

/* Give every byte its entry in one of ``count`` tables: one for all channels, or one for each. */
static void look_up(const Image *image, const Image *out, const byte *tables, ptrdiff_t count) {
    ptrdiff_t area = image->height * image->width;
    if (count == 1) {
        look_up_line(image->data, out->data, image->channels * area, tables);
        return;
    }
    for (ptrdiff_t c = 0; c < image->channels; c++) {
        const byte *from = image->data + c * image->plane, *table = tables + 256 * c;
        byte *to = out->data + c * out->plane;
        if (image->pixel == 1)
            look_up_line(from, to, area, table);
        else
            for (ptrdiff_t i = 0; i < area; i++) to[i * out->pixel] = table[from[i * image->pixel]];
    }
}

/* Add a whole number to bytes: what would leave them is cut before. */
static void shift_line(const byte *from, byte *to, ptrdiff_t n, float shift) {
    byte up = shift < 0 ? 0 : to_byte(shift), down = to_byte(-shift), top = (byte)(255 - up);
    for (ptrdiff_t i = 0; i < n; i++) to[i] = (byte)((from[i] < top ? from[i] : top) + up);
    for (ptrdiff_t i = 0; down && i < n; i++) to[i] = (byte)((to[i] > down ? to[i] : down) - down);
}

/* Multiply the bytes of every channel and add to them: ``lines`` has a scale and a shift, in levels, for each. */
static void linear_levels(const Image *image, const Image *out, const float *lines, ptrdiff_t count) {
    byte tables[4 * 256];
    int shifts = count == 1 || image->pixel == 1;
    for (ptrdiff_t c = 0; c < count; c++) shifts &= lines[2 * c] == 1;
    if (shifts) {
        ptrdiff_t n = image->channels * image->height * image->width / count;
        for (ptrdiff_t c = 0; c < count; c++)
            shift_line(image->data + c * image->plane, out->data + c * out->plane, n, lines[2 * c + 1]);
        return;
    }
    for (ptrdiff_t c = 0; c < count; c++)
        for (int i = 0; i < 256; i++) tables[256 * c + i] = to_byte((float)i * lines[2 * c] + lines[2 * c + 1]);
    look_up(image, out, tables, count);
}

/* Give every byte its entry in the table of floats of its channel. */
static void look_up_floats(const Image *image, const Floats *out, const float *tables) {
    ptrdiff_t area = image->height * image->width;
    for (ptrdiff_t c = 0; c < image->channels; c++) {
        const byte *from = image->data + c * image->plane;
        const float *table = tables + 256 * c;
        float *to = out->data + c * out->plane;
        if (image->pixel == 1 && out->pixel == 1)
            for (ptrdiff_t i = 0; i < area; i++) to[i] = table[from[i]];
        else
            for (ptrdiff_t i = 0; i < area; i++) to[i * out->pixel] = table[from[i * image->pixel]];
    }
}
