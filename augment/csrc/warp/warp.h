/* Warps: every pixel of the output blends the four around its place. */

#define STRETCH 256 /* pixels of the output that are done at a time */

#define SCALE_BACK (-1.0f / UNIT)
#define DEEP_SCALE (-1.0f / UNIT / 256)
#define DEEP_OFFSET (HALF_RANGE / 256.0f)

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
/* Take two neighbouring pixels in each half so that their channels are pairs of 16 bits. */
static inline __m256i pixel_pairs(const Canvas *canvas, ptrdiff_t one, ptrdiff_t other, int deep) {
    __m128i bytes = _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
    __m128i words = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15), low, high;
    if (deep) {
        low = _mm_loadu_si128((const __m128i *)(canvas->deep + 4 * one));
        high = _mm_loadu_si128((const __m128i *)(canvas->deep + 4 * other));
    } else {
        low = _mm_loadl_epi64((const __m128i *)(canvas->pixels + one));
        high = _mm_loadl_epi64((const __m128i *)(canvas->pixels + other));
    }
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    return _mm256_shuffle_epi8(both, _mm256_broadcastsi128_si256(deep ? words : bytes));
}

/* Blend pixels ``i`` and the next, of which ``part`` says where among eight they are. */
static inline __m256i blend_two(const Canvas *canvas, const Places *at, ptrdiff_t i, __m256i weights, __m256 share,
                                __m256i part, int deep) {
    ptrdiff_t one = at->place[i], other = at->place[i + 1];
    __m256i weight = _mm256_permutevar8x32_epi32(weights, part);
    __m256 top = _mm256_cvtepi32_ps(_mm256_madd_epi16(pixel_pairs(canvas, one, other, deep), weight));
    __m256i below = pixel_pairs(canvas, one + canvas->line, other + canvas->line, deep);
    __m256 bottom = _mm256_cvtepi32_ps(_mm256_madd_epi16(below, weight));
    __m256 sum = _mm256_mul_ps(_mm256_sub_ps(bottom, top), _mm256_permutevar8x32_ps(share, part));
    sum = _mm256_mul_ps(_mm256_add_ps(top, sum), _mm256_set1_ps(deep ? DEEP_SCALE : SCALE_BACK));
    return _mm256_cvtps_epi32(deep ? _mm256_add_ps(sum, _mm256_set1_ps(DEEP_OFFSET)) : sum);
}

static inline void blend_pixels(const Canvas *canvas, const Places *at, ptrdiff_t i, uint32_t *to, int deep) {
    __m256i weights = _mm256_loadu_si256((const __m256i *)(at->weights + i));
    __m256 share = _mm256_loadu_ps(at->share + i);
    __m256i part = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), two = _mm256_set1_epi32(2), found[4];
    for (int k = 0; k < 4; k++) {
        found[k] = blend_two(canvas, at, i + 2 * k, weights, share, part, deep);
        part = _mm256_add_epi32(part, two);
    }
    __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(found[0], found[1]), _mm256_packs_epi32(found[2], found[3]));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)(to + i), bytes);
}
#else
static inline float blend_pair(const Canvas *canvas, ptrdiff_t place, int c, int32_t weights, int deep) {
    int first = (int16_t)weights, second = weights >> 16;
    if (deep) return (float)(canvas->deep[4 * place + c] * first + canvas->deep[4 * place + 4 + c] * second);
    const uint32_t *pixels = canvas->pixels + place;
    return (float)((int)(pixels[0] >> 8 * c & 255) * first + (int)(pixels[1] >> 8 * c & 255) * second);
}

static inline void blend_pixels(const Canvas *canvas, const Places *at, ptrdiff_t start, uint32_t *to, int deep) {
    for (ptrdiff_t i = start; i < start + 8; i++) {
        to[i] = 0;
        for (int c = 0; c < 4; c++) {
            float top = blend_pair(canvas, at->place[i], c, at->weights[i], deep);
            float bottom = blend_pair(canvas, at->place[i] + canvas->line, c, at->weights[i], deep);
            float sum = (top + (bottom - top) * at->share[i]) * (deep ? DEEP_SCALE : SCALE_BACK);
            to[i] |= (uint32_t)to_byte(deep ? sum + DEEP_OFFSET : sum) << 8 * c;
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

/* Where positions come from: a homography from output to input, or what fields add to x and to y. */
typedef struct {
    const double *matrix;
    int projective;
    const float *fields[2];
    ptrdiff_t line[2], pixel[2]; /* of the fields, from one to the next */
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

static void place_by_fields(const Source *source, ptrdiff_t y, ptrdiff_t start, ptrdiff_t n, Places *at) {
    ptrdiff_t step_x = source->pixel[0], step_y = source->pixel[1];
    const float *x = source->fields[0] + y * source->line[0] + start * step_x;
    const float *from_y = source->fields[1] + y * source->line[1] + start * step_y;
    for (ptrdiff_t i = 0; i < n; i++) {
        at->x[i] = x[i * step_x] + (float)(start + i + 1);
        at->y[i] = from_y[i * step_y] + (float)(y + 1);
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
        if (source->matrix)
            place_by_matrix(source, y, x, &at);
        else
            place_by_fields(source, y, x, n, &at);
        locate(&at, canvas);
        for (ptrdiff_t i = 0; i < n; i += 8)
            if (canvas->deep) /* loops with constants have no choices inside */
                blend_pixels(canvas, &at, i, pixels, 1);
            else
                blend_pixels(canvas, &at, i, pixels, 0);
        if (canvas->fill) blend_edges(canvas, &at, n, channels, pixels);
        unpack_line(pixels, n, out, channels, to + y * out->line + x * out->pixel);
    }
}

/* Give memory for a canvas, and for another of it that is filtered. */
static void *set_memory(Canvas *canvas, int16_t **spare, int deep) {
    ptrdiff_t count = (canvas->height + 3) * canvas->line;
    if (!deep) return canvas->pixels = borrow((size_t)count * sizeof(uint32_t));
    count += 2 * MOST_STEPS; /* for what is beside a line that is filtered */
    canvas->deep = borrow((size_t)(2 * count) * 4 * sizeof(int16_t));
    *spare = canvas->deep + 4 * count;
    return canvas->deep;
}

/* Widen a range to a value; says whether that is a number of moderate size. */
static int widen(double *range, double value) {
    if (value < range[0]) range[0] = value;
    if (value > range[1]) range[1] = value;
    return value > -1e6 && value < 1e6;
}

/* Find between which places along y lines of the output lie; 0 where that is not known. */
static int find_reach(const Job *job, const Source *source, double *range) {
    ptrdiff_t last = job->last - 1, width = job->out.width;
    int known = 1;
    for (ptrdiff_t y = job->first; source->matrix && y <= last; y += last > y ? last - y : 1)
        for (int right = 0; right < 2; right++) {
            const double *m = source->matrix;
            double x = right ? (double)(width - 1) : 0, down = (double)y;
            double scale = source->projective ? m[6] * x + m[7] * down + m[8] : 1;
            known &= scale > 1e-6 && widen(range, (m[3] * x + m[4] * down + m[5]) / scale);
        }
    for (ptrdiff_t y = job->first; !source->matrix && known && y <= last; y++) {
        const float *line = source->fields[1] + y * source->line[1];
        ptrdiff_t count = source->pixel[1] ? width : 1;
        for (ptrdiff_t i = 0; i < count; i++) known &= widen(range, (double)line[i * source->pixel[1]] + (double)y);
    }
    return known;
}

/* Say which lines of an image lines of the output take, from ``top`` to before ``bottom``. */
static void find_lines(const Job *job, const Source *source, int padding, ptrdiff_t *top, ptrdiff_t *bottom) {
    double size = (double)job->image.height, range[2] = {size, -1};
    *top = 0, *bottom = job->image.height;
    if (job->last - job->first == job->out.height || !find_reach(job, source, range)) return;
    if (padding == PAD_MIRROR && !(range[0] > 2 && range[1] < size - 3)) return;
    *top = (ptrdiff_t)(range[0] < 2 ? 0 : range[0] > size ? size - 2 : range[0] - 2);
    *bottom = (ptrdiff_t)(range[1] > size - 4 ? size : range[1] < 0 ? 3 : range[1] + 4);
    if (*top < 0) *top = 0;
    if (*bottom > job->image.height) *bottom = job->image.height;
}

/* What all rows of a warp have in common. */
typedef struct {
    int32_t padding, projective, filtered;
    float fill[]; /* of each channel */
} Warping;

/* Warp lines of the output linearly, the image filtered before by ``levels``; 0 where there is no memory. */
static int warp_by(const Job *job, const Source *source, const int *levels, const Warping *given) {
    const Image *image = &job->image, *out = &job->out;
    Canvas canvas = {NULL, NULL, image->height, image->width, image->width + 3, given->padding, NULL};
    int16_t *spare = NULL;
    int deep = levels[0] || levels[1];
    void *memory = set_memory(&canvas, &spare, deep);
    if (!memory) return 0;
    ptrdiff_t top, bottom;
    find_lines(job, source, given->padding, &top, &bottom);
    for (ptrdiff_t c = 0; c < image->channels; c += 4) {
        ptrdiff_t channels = image->channels - c < 4 ? image->channels - c : 4;
        if (deep)
            set_deep_canvas(&canvas, &spare, image, c, channels, levels, given->fill);
        else
            set_canvas(&canvas, image, c, channels, top, bottom, given->fill);
        for (ptrdiff_t y = job->first; y < job->last; y++)
            warp_line(&canvas, source, out, channels, out->data + c * out->plane, y);
    }
    give_back(memory);
    return 1;
}

#define APART 1e-3 /* pixels that a whole one may be missed by over an image */

static int near_whole(double value, double reach) { return fabs(value - rint(value)) * reach < APART; }

/* Say whether a matrix takes all pixels of an output to whole pixels, each axis to one of them. */
static int is_permutation(const double *m, const Image *out) {
    double w = (double)out->width, h = (double)out->height;
    for (int k = 0; k < 6; k += 3)
        if (!near_whole(m[k], w) || !near_whole(m[k + 1], h) || !near_whole(m[k + 2], 1)) return 0;
    double a = fabs(rint(m[0])), b = fabs(rint(m[1])), c = fabs(rint(m[3])), d = fabs(rint(m[4]));
    return m[6] == 0 && m[7] == 0 && a + b == 1 && c + d == 1 && a + c == 1;
}

/* Warp an image by a homography from output to input, and where it is filtered, how far along x and y. */
static int warp(const Job *job) {
    static const int borders[] = {CONSTANT, REPLICATE, SYMMETRIC};
    const double *m = job->params;
    const Warping *given = job->config;
    int levels[2] = {0, 0};
    if (given->filtered && is_permutation(m, &job->out)) {
        byte *fill = borrow_zeros((size_t)job->image.channels, 16);
        for (ptrdiff_t c = 0; fill && c < job->image.channels; c++) fill[16 * c] = to_byte(given->fill[c]);
        if (fill) move_pixels(job, m, borders[given->padding], fill, 1);
        give_back(fill);
        return fill != NULL;
    }
    for (int k = 0; given->filtered && k < 2; k++) levels[k] = m[9 + k] > 0 ? m[9 + k] < 4 ? (int)m[9 + k] : 4 : 0;
    if (m[1] == 0 && m[3] == 0 && m[6] == 0 && m[7] == 0 && !levels[0] && !levels[1]) {
        Axis axes[2] = {{m[4], m[5], job->image.height}, {m[0], m[2], job->image.width}};
        return resample_axes(job, axes, given->padding, given->fill);
    }
    Source source = {.matrix = m, .projective = given->projective};
    return warp_by(job, &source, levels, given);
}

/* Displace an image by a field of x and y. */
static int displace(const Job *job) {
    const float *field = job->params;
    ptrdiff_t w = job->out.width;
    Source source = {.fields = {field, field + job->out.height * w}, .line = {w, w}, .pixel = {1, 1}};
    return warp_by(job, &source, (int[]){0, 0}, job->config);
}

/* Displace an image by what is added to x in each column, and then to y in each line. */
static int displace_lines(const Job *job) {
    const float *field = job->params;
    Source source = {.fields = {field, field + job->out.width}, .line = {0, 1}, .pixel = {1, 0}};
    return warp_by(job, &source, (int[]){0, 0}, job->config);
}
