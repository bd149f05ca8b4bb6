/* As many bytes, or floats, as one instruction takes. Lines that are read and written so need room behind their end. */

#if defined(WIDE)

typedef __m256i Bytes;
static inline Bytes read_bytes(const byte *from) { return _mm256_loadu_si256((const __m256i *)from); }
static inline void write_bytes(byte *to, Bytes value) { _mm256_storeu_si256((__m256i *)to, value); }
static inline Bytes lesser(Bytes a, Bytes b) { return _mm256_min_epu8(a, b); }
static inline Bytes greater(Bytes a, Bytes b) { return _mm256_max_epu8(a, b); }

typedef __m256 Numbers;
static inline Numbers read_numbers(const float *from) { return _mm256_loadu_ps(from); }
static inline void write_numbers(float *to, Numbers value) { _mm256_storeu_ps(to, value); }
static inline Numbers all_of(float value) { return _mm256_set1_ps(value); }
static inline Numbers plus(Numbers a, Numbers b) { return _mm256_add_ps(a, b); }
static inline Numbers minus(Numbers a, Numbers b) { return _mm256_sub_ps(a, b); }
static inline Numbers times(Numbers a, Numbers b) { return _mm256_mul_ps(a, b); }
static inline Numbers over(Numbers a, Numbers b) { return _mm256_div_ps(a, b); }
static inline Numbers numbers_of_bytes(const byte *from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from)));
}
static inline Numbers numbers_of_words(const uint16_t *from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from)));
}
static inline void write_levels(byte *to, const Numbers *values) {
    __m256i whole[4];
    for (int j = 0; j < 4; j++) whole[j] = _mm256_cvtps_epi32(_mm256_min_ps(values[j], _mm256_set1_ps(255)));
    __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
    write_bytes(to, _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

#elif defined(__SSE2__)
#include <emmintrin.h>

typedef __m128i Bytes;
static inline Bytes read_bytes(const byte *from) { return _mm_loadu_si128((const __m128i *)from); }
static inline void write_bytes(byte *to, Bytes value) { _mm_storeu_si128((__m128i *)to, value); }
static inline Bytes lesser(Bytes a, Bytes b) { return _mm_min_epu8(a, b); }
static inline Bytes greater(Bytes a, Bytes b) { return _mm_max_epu8(a, b); }

typedef __m128 Numbers;
static inline Numbers read_numbers(const float *from) { return _mm_loadu_ps(from); }
static inline void write_numbers(float *to, Numbers value) { _mm_storeu_ps(to, value); }
static inline Numbers all_of(float value) { return _mm_set1_ps(value); }
static inline Numbers plus(Numbers a, Numbers b) { return _mm_add_ps(a, b); }
static inline Numbers minus(Numbers a, Numbers b) { return _mm_sub_ps(a, b); }
static inline Numbers times(Numbers a, Numbers b) { return _mm_mul_ps(a, b); }
static inline Numbers over(Numbers a, Numbers b) { return _mm_div_ps(a, b); }
static inline Numbers numbers_of_bytes(const byte *from) {
    int32_t four;
    memcpy(&four, from, sizeof four);
    __m128i none = _mm_setzero_si128(), words = _mm_unpacklo_epi8(_mm_cvtsi32_si128(four), none);
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(words, none));
}
static inline Numbers numbers_of_words(const uint16_t *from) {
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)from), _mm_setzero_si128()));
}
static inline void write_levels(byte *to, const Numbers *values) {
    __m128i whole[4];
    for (int j = 0; j < 4; j++) whole[j] = _mm_cvtps_epi32(_mm_min_ps(values[j], _mm_set1_ps(255)));
    write_bytes(to, _mm_packus_epi16(_mm_packs_epi32(whole[0], whole[1]), _mm_packs_epi32(whole[2], whole[3])));
}

#else

typedef byte Bytes;
static inline Bytes read_bytes(const byte *from) { return *from; }
static inline void write_bytes(byte *to, Bytes value) { *to = value; }
static inline Bytes lesser(Bytes a, Bytes b) { return a < b ? a : b; }
static inline Bytes greater(Bytes a, Bytes b) { return a > b ? a : b; }

typedef float Numbers;
static inline Numbers read_numbers(const float *from) { return *from; }
static inline void write_numbers(float *to, Numbers value) { *to = value; }
static inline Numbers all_of(float value) { return value; }
static inline Numbers plus(Numbers a, Numbers b) { return a + b; }
static inline Numbers minus(Numbers a, Numbers b) { return a - b; }
static inline Numbers times(Numbers a, Numbers b) { return a * b; }
static inline Numbers over(Numbers a, Numbers b) { return a / b; }
static inline Numbers numbers_of_bytes(const byte *from) { return *from; }
static inline Numbers numbers_of_words(const uint16_t *from) { return *from; }
static inline void write_levels(byte *to, const Numbers *values) {
    for (int j = 0; j < 4; j++) to[j] = to_byte(values[j]);
}

#endif

/* Four vectors of numbers, which are rounded to a vector of bytes, are written at once. */
#define ROOM 64 /* elements behind the end of a line that may be read and written */
#define LANES ((ptrdiff_t)sizeof(Bytes))
#define NUMBERS ((ptrdiff_t)(sizeof(Numbers) / sizeof(float)))

/* Turn a block of 8 by 8 numbers. */
static void transpose_block(const float *from, float *to) {
#if defined(WIDE)
    __m256 a[8], b[8];
    for (int k = 0; k < 8; k++) a[k] = _mm256_loadu_ps(from + 8 * k);
    for (int k = 0; k < 8; k += 2) {
        b[k] = _mm256_unpacklo_ps(a[k], a[k + 1]);
        b[k + 1] = _mm256_unpackhi_ps(a[k], a[k + 1]);
    }
    for (int k = 0; k < 8; k += 4) {
        a[k] = _mm256_shuffle_ps(b[k], b[k + 2], 0x44);
        a[k + 1] = _mm256_shuffle_ps(b[k], b[k + 2], 0xee);
        a[k + 2] = _mm256_shuffle_ps(b[k + 1], b[k + 3], 0x44);
        a[k + 3] = _mm256_shuffle_ps(b[k + 1], b[k + 3], 0xee);
    }
    for (int k = 0; k < 4; k++) {
        _mm256_storeu_ps(to + 8 * k, _mm256_permute2f128_ps(a[k], a[k + 4], 0x20));
        _mm256_storeu_ps(to + 8 * k + 32, _mm256_permute2f128_ps(a[k], a[k + 4], 0x31));
    }
#elif defined(__SSE2__)
    for (int y = 0; y < 8; y += 4)
        for (int x = 0; x < 8; x += 4) {
            __m128 v[4];
            for (int k = 0; k < 4; k++) v[k] = _mm_loadu_ps(from + 8 * (y + k) + x);
            _MM_TRANSPOSE4_PS(v[0], v[1], v[2], v[3]);
            for (int k = 0; k < 4; k++) _mm_storeu_ps(to + 8 * (x + k) + y, v[k]);
        }
#else
    for (int k = 0; k < 64; k++) to[k] = from[k % 8 * 8 + k / 8];
#endif
}
