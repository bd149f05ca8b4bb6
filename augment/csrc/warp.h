/* Warps: every pixel of the output blends the four around its place. */

#define STRETCH 256 /* pixels of the output that are done at a time */

/* An image of up to four channels, 32 bits a pixel; around it lie a frame of the fill, and pixels that weigh nothing. */
typedef struct {
    uint32_t *pixels; /* from the frame on */
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

/* Fill a canvas of an image's channels from c on. */
static void set_canvas(Canvas *canvas, const Image *image, ptrdiff_t c, ptrdiff_t channels, const float *fill) {
    uint32_t level = 0;
    canvas->fill = NULL;
    for (ptrdiff_t k = 0; k < channels; k++) {
        level |= (uint32_t)to_byte(fill[c + k]) << 8 * k;
        if (fill[c + k] != to_byte(fill[c + k])) canvas->fill = fill + c;
    }
    for (ptrdiff_t y = -1; y < canvas->height + 2; y++) {
        uint32_t *line = canvas->pixels + (y + 1) * canvas->line;
        if (y >= 0 && y < canvas->height) {
            pack_line(image->data + c * image->plane + y * image->line, image, channels, line + 1);
            line[0] = line[canvas->width + 1] = line[canvas->width + 2] = level;
        } else
            for (ptrdiff_t i = 0; i < canvas->line; i++) line[i] = level;
    }
}

/* Where pixels of the output lie on a canvas. */
typedef struct {
    ptrdiff_t count; /* a multiple of eight */
    float x[STRETCH], y[STRETCH], share[STRETCH]; /* ``share`` of the line below */
    int32_t place[STRETCH], weights[STRETCH];     /* two weights of 16 bits */
} Places;

/* Bring positions onto the canvas, where the frame is 0. */
static void hold(float *x, ptrdiff_t n, ptrdiff_t size, int padding) {
    float low = padding == PAD_FILL ? 0 : 1, high = (float)(padding == PAD_FILL ? size + 1 : size);
    if (padding == PAD_MIRROR) {
        float period = 2 * (float)size, far = 4e6f;
        for (ptrdiff_t i = 0; i < n; i++) {
            float turns = least(most((x[i] - 0.5f) / period, -far), far), rest = turns - (turns + ROUNDING - ROUNDING);
            x[i] = most(rest, -rest) * period + 0.5f;
        }
    }
    for (ptrdiff_t i = 0; i < n; i++) x[i] = least(most(x[i], low), high); /* no number is the low one */
}

static void locate(Places *at, const Canvas *canvas) {
    int32_t line = (int32_t)canvas->line;
    hold(at->x, at->count, canvas->width, canvas->padding);
    hold(at->y, at->count, canvas->height, canvas->padding);
    for (ptrdiff_t i = 0; i < at->count; i++) {
        int32_t x = (int32_t)at->x[i], y = (int32_t)at->y[i];
        int32_t second = (int32_t)((at->x[i] - (float)x) * UNIT + 0.5f);
        at->weights[i] = (int32_t)(((uint32_t)(second - UNIT) & 0xffff) | (uint32_t)-second << 16);
        at->share[i] = at->y[i] - (float)y;
        at->place[i] = y * line + x;
    }
}

#ifdef WIDE
/* Spread two neighbouring pixels in each half so that their channels are pairs of 16 bits. */
static inline __m256i pixel_pairs(const uint32_t *one, const uint32_t *other) {
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)one)),
                                           _mm_loadl_epi64((const __m128i *)other), 1);
    __m128i pairs = _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
    return _mm256_shuffle_epi8(both, _mm256_broadcastsi128_si256(pairs));
}

/* Blend pixels ``i`` and the next, of which ``part`` says where among eight they are. */
static inline __m256i blend_two(const Canvas *canvas, const Places *at, ptrdiff_t i, __m256i weights, __m256 share,
                                __m256i part) {
    const uint32_t *one = canvas->pixels + at->place[i], *other = canvas->pixels + at->place[i + 1];
    __m256i weight = _mm256_permutevar8x32_epi32(weights, part);
    __m256 top = _mm256_cvtepi32_ps(_mm256_madd_epi16(pixel_pairs(one, other), weight));
    __m256i below = pixel_pairs(one + canvas->line, other + canvas->line);
    __m256 bottom = _mm256_cvtepi32_ps(_mm256_madd_epi16(below, weight));
    __m256 sum = _mm256_mul_ps(_mm256_sub_ps(bottom, top), _mm256_permutevar8x32_ps(share, part));
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_add_ps(top, sum), _mm256_set1_ps(-1.0f / UNIT)));
}

static inline void blend_pixels(const Canvas *canvas, const Places *at, ptrdiff_t i, uint32_t *to) {
    __m256i weights = _mm256_loadu_si256((const __m256i *)(at->weights + i));
    __m256 share = _mm256_loadu_ps(at->share + i);
    __m256i part = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), two = _mm256_set1_epi32(2), found[4];
    for (int k = 0; k < 4; k++) {
        found[k] = blend_two(canvas, at, i + 2 * k, weights, share, part);
        part = _mm256_add_epi32(part, two);
    }
    __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(found[0], found[1]), _mm256_packs_epi32(found[2], found[3]));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)(to + i), bytes);
}
#else
static inline void blend_pixels(const Canvas *canvas, const Places *at, ptrdiff_t start, uint32_t *to) {
    for (ptrdiff_t i = start; i < start + 8; i++) {
        const uint32_t *above = canvas->pixels + at->place[i], *below = above + canvas->line;
        int first = (int16_t)at->weights[i], second = at->weights[i] >> 16;
        to[i] = 0;
        for (int c = 0; c < 32; c += 8) {
            float top = (float)((int)(above[0] >> c & 255) * first + (int)(above[1] >> c & 255) * second);
            float bottom = (float)((int)(below[0] >> c & 255) * first + (int)(below[1] >> c & 255) * second);
            to[i] |= (uint32_t)to_byte((top + (bottom - top) * at->share[i]) * (-1.0f / UNIT)) << c;
        }
    }
}
#endif

static float tap_value(const Canvas *canvas, int32_t x, int32_t y, ptrdiff_t c) {
    if (x < 1 || y < 1 || x > canvas->width || y > canvas->height) return canvas->fill[c];
    return (float)(canvas->pixels[y * canvas->line + x] >> 8 * c & 255);
}

/* Do those pixels again that are partly of a fill between two bytes. */
static void blend_edges(const Canvas *canvas, const Places *at, ptrdiff_t n, ptrdiff_t channels, uint32_t *to) {
    float right = (float)canvas->width, bottom = (float)canvas->height;
    for (ptrdiff_t i = 0; i < n; i++) {
        float x = at->x[i], y = at->y[i];
        if (x >= 1 && y >= 1 && x <= right && y <= bottom) continue;
        int32_t left = (int32_t)x, top = (int32_t)y;
        x -= (float)left, y -= (float)top;
        to[i] = 0;
        for (ptrdiff_t c = 0; c < channels; c++) {
            float above = tap_value(canvas, left, top, c) * (1 - x) + tap_value(canvas, left + 1, top, c) * x;
            float below = tap_value(canvas, left, top + 1, c) * (1 - x) + tap_value(canvas, left + 1, top + 1, c) * x;
            to[i] |= (uint32_t)to_byte(above * (1 - y) + below * y) << 8 * c;
        }
    }
}

/* Where positions come from: a homography from output to input, or what ``field`` adds to x and y. */
typedef struct {
    const double *matrix;
    int projective;
    const Floats *field;
} Source;

static void place_by_matrix(const Source *source, ptrdiff_t y, ptrdiff_t start, Places *at) {
    const double *m = source->matrix;
    float starts[3], steps[3];
    for (int k = 0; k < 3; k++) {
        steps[k] = (float)m[3 * k];
        starts[k] = (float)(m[3 * k] * (double)start + m[3 * k + 1] * (double)y + m[3 * k + 2] + !source->projective);
    }
    for (int32_t i = 0; i < at->count; i++) {
        at->x[i] = steps[0] * (float)i + starts[0];
        at->y[i] = steps[1] * (float)i + starts[1];
    }
    if (!source->projective) return;
    for (int32_t i = 0; i < at->count; i++) {
        float scale = steps[2] * (float)i + starts[2];
        at->x[i] = at->x[i] / scale + 1;
        at->y[i] = at->y[i] / scale + 1;
    }
}

static void place_by_field(const Floats *field, ptrdiff_t y, ptrdiff_t start, ptrdiff_t n, Places *at) {
    const float *from = field->data + y * field->line + start * field->pixel;
    for (ptrdiff_t i = 0; i < n; i++) {
        at->x[i] = from[i * field->pixel] + (float)(start + i + 1);
        at->y[i] = from[i * field->pixel + field->plane] + (float)(y + 1);
    }
    for (ptrdiff_t i = n; i < at->count; i++) at->x[i] = at->y[i] = 1;
}

static void warp_line(const Canvas *canvas, const Source *source, const Image *out, ptrdiff_t channels, byte *to,
                      ptrdiff_t y) {
    Places at;
    uint32_t pixels[STRETCH];
    for (ptrdiff_t x = 0; x < out->width; x += STRETCH) {
        ptrdiff_t n = out->width - x < STRETCH ? out->width - x : STRETCH;
        at.count = (n + 7) / 8 * 8;
        if (source->field)
            place_by_field(source->field, y, x, n, &at);
        else
            place_by_matrix(source, y, x, &at);
        locate(&at, canvas);
        for (ptrdiff_t i = 0; i < n; i += 8) blend_pixels(canvas, &at, i, pixels);
        if (canvas->fill) blend_edges(canvas, &at, n, channels, pixels);
        unpack_line(pixels, n, out, channels, to + y * out->line + x * out->pixel);
    }
}

/* Warp an image linearly; says whether there was memory to do so. */
static int warp(const Image *image, const Image *out, const double *matrix, int projective, const Floats *field,
                int padding, const float *fill) {
    Canvas canvas = {NULL, image->height, image->width, image->width + 3, padding, NULL};
    Source source = {matrix, projective, field};
    canvas.pixels = malloc((size_t)((canvas.height + 3) * canvas.line) * sizeof(uint32_t));
    if (!canvas.pixels) return 0;
    for (ptrdiff_t c = 0; c < image->channels; c += 4) {
        ptrdiff_t channels = image->channels - c < 4 ? image->channels - c : 4;
        set_canvas(&canvas, image, c, channels, fill);
        for (ptrdiff_t y = 0; y < out->height; y++)
            warp_line(&canvas, &source, out, channels, out->data + c * out->plane, y);
    }
    free(canvas.pixels);
    return 1;
}
