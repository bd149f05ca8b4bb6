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

/* Add a whole number to bytes: what would leave them is cut before. */
static void shift_line(const byte *from, byte *to, ptrdiff_t n, float shift) {
    byte up = shift < 0 ? 0 : to_byte(shift), down = to_byte(-shift), top = (byte)(255 - up);
    for (ptrdiff_t i = 0; i < n; i++) to[i] = (byte)((from[i] < top ? from[i] : top) + up);
    for (ptrdiff_t i = 0; down && i < n; i++) to[i] = (byte)((to[i] > down ? to[i] : down) - down);
}
