/* Resampling by axes: lines of the input are blended along x once, and pairs of what comes out along y. */

enum { PAD_FILL, PAD_EDGE, PAD_MIRROR };

/* Position t of the output takes ``factor * t + offset`` of an axis of ``size`` pixels. */
typedef struct {
    double factor, offset;
    ptrdiff_t size;
} Axis;

/* The two pixels around a place on an axis, and how much of the second there is. */
typedef struct {
    ptrdiff_t before, after;
    float share;
} Tap;

static inline double whole_below(double value) {
    double cut = (double)(int64_t)value;
    return cut > value ? cut - 1 : cut;
}

/* Turn places beside an axis round at the edges of its pixels. */
static double mirrored(double place, ptrdiff_t size) {
    double period = 2.0 * (double)size, turns = place + 0.5;
    turns -= period * whole_below(turns / period);
    return (turns < period - turns ? turns : period - turns) - 0.5;
}

/* Find the pixels around a place; a fill lies at -1 and at ``size``. */
static Tap tap_at(double place, ptrdiff_t size, int padding) {
    double low = padding == PAD_FILL ? -1 : 0, high = (double)size - 1 - low, far = 1e9;
    if (!(place > -far)) place = -far; /* nor is it a number then, maybe */
    if (place > far) place = far;
    if (padding == PAD_MIRROR) place = mirrored(place, size);
    if (place < low) place = low;
    if (place > high) place = high;
    double floor = whole_below(place);
    ptrdiff_t before = (ptrdiff_t)floor, last = (ptrdiff_t)high;
    return (Tap){before, before < last ? before + 1 : last, (float)(place - floor)};
}

#define UNIT 32768 /* a weight of one; weights are negative, for what 16 bits hold ends at -32768 and at 32767 */
#define WINDOW 16  /* bytes that one shuffle chooses from */
#define MOST_WINDOWS 12

/* How ``count`` numbers of a line come of pairs of its bytes. */
typedef struct {
    ptrdiff_t count;
    int32_t *before, *after; /* the places of the bytes */
    int16_t *weights;        /* two for each */
    int32_t *base;           /* of eight numbers: where their bytes begin, */
    byte *choices;           /* and which bytes of the windows from there on are theirs */
    int windows;             /* how many there are; none where they would be too many */
    ptrdiff_t reach;         /* where the last bytes that are read end */
} Blend;

/* Memory for one image. */
typedef struct {
    Blend blend;
    float *lines[2]; /* of the input, blended along x */
    ptrdiff_t held[2];
    byte *bytes, *result;
    float *levels; /* the fill of each number of a line, */
    float *rests;  /* and what is added for what bytes lack of it, where they lack something */
    int has_rests;
} Desk;

static ptrdiff_t padded(ptrdiff_t n) { return (n + 31) / 32 * 32; }

static void *take(byte **rest, ptrdiff_t size) {
    void *here = *rest;
    *rest += padded(size);
    return here;
}

/* Lay out a desk for lines of ``count`` numbers from ``size`` bytes; gives what is to be freed. */
static void *set_desk(Desk *desk, ptrdiff_t count, ptrdiff_t size) {
    ptrdiff_t n = padded(count), choices = MOST_WINDOWS * 4 * n, bytes = padded(size + (MOST_WINDOWS + 1) * WINDOW);
    byte *memory = borrow((size_t)(4 * 4 * n + 4 * n + 4 * n + choices + bytes + 2 * n + 8 * n + 32)), *rest = memory;
    if (!memory) return NULL;
    desk->lines[0] = take(&rest, 4 * n);
    desk->lines[1] = take(&rest, 4 * n);
    desk->blend.before = take(&rest, 4 * n);
    desk->blend.after = take(&rest, 4 * n);
    desk->blend.weights = take(&rest, 4 * n);
    desk->blend.base = take(&rest, n);
    desk->blend.choices = take(&rest, choices);
    desk->bytes = take(&rest, bytes);
    desk->result = take(&rest, n);
    desk->levels = take(&rest, 4 * n);
    desk->rests = take(&rest, 4 * n);
    desk->blend.count = count;
    memset(desk->bytes, 0, (size_t)bytes);
    return memory;
}

static void set_pair(Blend *blend, ptrdiff_t i, Tap tap, ptrdiff_t lanes, ptrdiff_t lane) {
    int second = (int)(tap.share * UNIT + 0.5f);
    blend->before[i] = (int32_t)(tap.before * lanes + lane);
    blend->after[i] = (int32_t)(tap.after * lanes + lane);
    blend->weights[2 * i] = (int16_t)(second - UNIT);
    blend->weights[2 * i + 1] = (int16_t)-second;
}

#ifdef WIDE
/* Find the windows of bytes that each eight numbers come from, and what to choose of them. */
static void set_choices(Blend *blend) {
    ptrdiff_t reach = 0, end = 0, blocks = padded(blend->count) / 8;
    for (ptrdiff_t b = 0; b < blocks; b++) {
        int32_t first = blend->before[8 * b], last = first;
        for (ptrdiff_t i = 8 * b; i < 8 * b + 8; i++) {
            first = blend->before[i] < first ? blend->before[i] : first;
            last = blend->after[i] > last ? blend->after[i] : last;
        }
        blend->base[b] = first;
        end = first > end ? first : end;
        reach = last - first + 1 > reach ? last - first + 1 : reach;
    }
    blend->windows = reach > MOST_WINDOWS * WINDOW ? 0 : (int)((reach + WINDOW - 1) / WINDOW);
    if (!blend->windows) return;
    blend->reach = end + blend->windows * WINDOW;
    memset(blend->choices, 0x80, (size_t)(blocks * blend->windows * 32)); /* nothing */
    for (ptrdiff_t i = 0; i < 8 * blocks; i++) {
        byte *choice = blend->choices + i / 8 * blend->windows * 32 + i % 8 * 4;
        uint32_t before = (uint32_t)(blend->before[i] - blend->base[i / 8]);
        uint32_t after = (uint32_t)(blend->after[i] - blend->base[i / 8]);
        choice[before / WINDOW * 32] = (byte)(before % WINDOW);
        choice[after / WINDOW * 32 + 2] = (byte)(after % WINDOW);
    }
}
#endif

/* Prepare the blend along x: pixels have ``lanes`` bytes, which go on side by side, or each into a line of its own. */
static void set_blend(Blend *blend, Axis axis, ptrdiff_t n, int padding, ptrdiff_t lanes, int apart) {
    ptrdiff_t length = apart ? blend->count / lanes : n;
    for (ptrdiff_t i = 0; i < length; i++) { /* what is beyond n is not used, but of the same windows as others */
        Tap tap = tap_at(axis.factor * (double)(i < n ? i : n - 1) + axis.offset, axis.size, padding);
        for (ptrdiff_t lane = 0; lane < lanes; lane++)
            set_pair(blend, apart ? lane * length + i : i * lanes + lane, tap, lanes, lane);
    }
    for (ptrdiff_t i = blend->count; i < padded(blend->count); i++) {
        blend->before[i] = blend->after[i] = blend->before[blend->count - 1];
        blend->weights[2 * i] = blend->weights[2 * i + 1] = 0;
    }
    blend->reach = axis.size * lanes;
    blend->windows = 0;
#ifdef WIDE
    set_choices(blend);
#endif
}

/* Prepare the fill beside lines of ``size`` bytes; numbers of a lane lie side by side, or they take turns. */
static void set_fill(Desk *desk, const float *fill, ptrdiff_t lanes, ptrdiff_t size, int apart) {
    const Blend *blend = &desk->blend;
    desk->has_rests = 0;
    for (ptrdiff_t i = 0; i < blend->count; i++) {
        float level = fill[apart ? i / (blend->count / lanes) : i % lanes], rest = level - to_byte(level);
        int first = blend->before[i] < 0 || blend->before[i] >= size;
        int second = blend->after[i] < 0 || blend->after[i] >= size;
        desk->levels[i] = level;
        desk->rests[i] = rest * (float)(first * blend->weights[2 * i] + second * blend->weights[2 * i + 1]);
        desk->has_rests |= desk->rests[i] != 0;
    }
}

#ifdef WIDE
static inline void blend_windows(const byte *line, const Blend *blend, float *to, int windows) {
    const __m256i *choice = (const __m256i *)blend->choices, *weights = (const __m256i *)blend->weights;
    for (ptrdiff_t b = 0; b < (blend->count + 7) / 8; b++) {
        const byte *from = line + blend->base[b];
        __m256i pairs = _mm256_setzero_si256();
        for (int k = 0; k < windows; k++) {
            __m256i bytes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(from + WINDOW * k)));
            pairs = _mm256_or_si256(pairs, _mm256_shuffle_epi8(bytes, _mm256_loadu_si256(choice++)));
        }
        __m256i sums = _mm256_madd_epi16(pairs, _mm256_loadu_si256(weights + b));
        _mm256_storeu_ps(to + 8 * b, _mm256_cvtepi32_ps(sums));
    }
}
#endif

/* Blend a line along x, into numbers that are ``-UNIT`` times too large. */
static void blend_along(const byte *line, const Blend *blend, float *to) {
#ifdef WIDE
    switch (blend->windows) { /* loops of a constant length are unrolled */
    case 0: break;
    case 1: blend_windows(line, blend, to, 1); return;
    case 2: blend_windows(line, blend, to, 2); return;
    default: blend_windows(line, blend, to, blend->windows); return;
    }
#endif
    for (ptrdiff_t i = 0; i < blend->count; i++) {
        const int16_t *weights = blend->weights + 2 * i;
        to[i] = (float)(line[blend->before[i]] * weights[0] + line[blend->after[i]] * weights[1]);
    }
}

#ifdef WIDE
static inline __m256i blend_eight(const float *one, const float *two, __m256 first, __m256 second) {
    __m256 a = _mm256_mul_ps(_mm256_loadu_ps(one), first), b = _mm256_mul_ps(_mm256_loadu_ps(two), second);
    return _mm256_cvtps_epi32(_mm256_add_ps(a, b));
}

static inline void blend_32(const float *one, const float *two, __m256 first, __m256 second, byte *to) {
    __m256i a = blend_eight(one, two, first, second), b = blend_eight(one + 8, two + 8, first, second);
    __m256i c = blend_eight(one + 16, two + 16, first, second), d = blend_eight(one + 24, two + 24, first, second);
    __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)to, bytes);
}
#endif

/* Blend two lines that are ``-UNIT`` times too large, and round. */
static void blend_lines(const float *one, const float *two, float share, byte *to, ptrdiff_t n) {
    float first = (1 - share) / -UNIT, second = share / -UNIT;
    ptrdiff_t i = 0;
#ifdef WIDE
    __m256 firsts = _mm256_set1_ps(first), seconds = _mm256_set1_ps(second);
    for (; i + 32 <= n; i += 32) blend_32(one + i, two + i, firsts, seconds, to + i);
    if (n >= 32 && i < n) {
        i = n - 32;
        blend_32(one + i, two + i, firsts, seconds, to + i);
        return;
    }
#endif
    for (; i < n; i++) to[i] = to_byte(one[i] * first + two[i] * second);
}

/* Copy the bytes of a line between its fill, if any; ``lanes`` channels of a pixel lie side by side, or one. */
static void copy_line(const byte *from, ptrdiff_t step, ptrdiff_t n, ptrdiff_t lanes, const float *fill, byte *to) {
    if (step == lanes)
        memcpy(to, from, (size_t)(n * lanes));
    else
        for (ptrdiff_t i = 0; i < n; i++) to[i] = from[i * step];
    for (ptrdiff_t k = 0; fill && k < lanes; k++) to[k - lanes] = to[n * lanes + k] = to_byte(fill[k]);
}

/* Give the bytes of line y; they are copied where a fill is beside them, or a read would go too far. */
static const byte *bytes_at(Desk *desk, const Image *image, const Axis *axes, ptrdiff_t lanes, ptrdiff_t y,
                            const float *fill) {
    const byte *from = image->data + y * image->line;
    const byte *end = image->data + (image->height - 1) * image->line + (image->width - 1) * image->pixel + lanes;
    if (!fill && image->pixel == lanes && desk->blend.reach <= end - from) return from;
    copy_line(from, image->pixel, axes[1].size, lanes, fill, desk->bytes + lanes);
    return desk->bytes + lanes;
}

/* Give line y blended along x, which may be there already; its neighbour ``other`` stays. */
static const float *line_at(Desk *desk, const Image *image, const Axis *axes, ptrdiff_t lanes, ptrdiff_t y,
                            ptrdiff_t other, const float *fill) {
    for (int k = 0; k < 2; k++)
        if (desk->held[k] == y) return desk->lines[k];
    int k = desk->held[0] == other;
    float *line = desk->lines[k];
    desk->held[k] = y;
    if (y < 0 || y >= axes[0].size) {
        for (ptrdiff_t i = 0; i < desk->blend.count; i++) line[i] = desk->levels[i] * -UNIT;
        return line;
    }
    blend_along(bytes_at(desk, image, axes, lanes, y, fill), &desk->blend, line);
    for (ptrdiff_t i = 0; desk->has_rests && i < desk->blend.count; i++) line[i] += desk->rests[i];
    return line;
}

/* Write a line of the output: ``parts`` stretches of n bytes, a plane apart. */
static void put_line(Desk *desk, const float *one, const float *two, float share, const Image *out, byte *to,
                     ptrdiff_t parts, ptrdiff_t n) {
    int dense = n > out->width || out->pixel == 1;
    ptrdiff_t length = desk->blend.count / parts;
    for (ptrdiff_t p = 0; p < parts; p++, to += out->plane) {
        blend_lines(one + p * length, two + p * length, share, dense ? to : desk->result, n);
        if (!dense)
            for (ptrdiff_t i = 0; i < n; i++) to[i * out->pixel] = desk->result[i];
    }
}

/* Resample lines of the output along both axes, first y, then x; says whether there was memory to do so. */
static int resample_axes(const Job *job, const Axis *axes, int padding, const float *fill) {
    const Image *image = &job->image, *out = &job->out;
    ptrdiff_t channels = image->channels, w = out->width;
    int inside = image->plane == 1 && image->pixel == channels, within = out->plane == 1 && out->pixel == channels;
    ptrdiff_t lanes = inside ? channels : 1, parts = inside && !within ? channels : 1;
    Desk desk = {.has_rests = 0};
    void *memory = set_desk(&desk, parts > 1 ? (w + 7) / 8 * 8 * parts : w * lanes, (axes[1].size + 2) * lanes);
    if (!memory) return 0;
    set_blend(&desk.blend, axes[1], w, padding, lanes, parts > 1);
    for (ptrdiff_t c = 0; c < channels; c += lanes) {
        Image plane = *image;
        plane.data += c * image->plane;
        desk.held[0] = desk.held[1] = -2;
        const float *level = padding == PAD_FILL ? fill + c : NULL;
        if (level) set_fill(&desk, level, lanes, axes[1].size * lanes, parts > 1);
        for (ptrdiff_t y = job->first; y < job->last; y++) {
            Tap tap = tap_at(axes[0].factor * (double)y + axes[0].offset, axes[0].size, padding);
            const float *one = line_at(&desk, &plane, axes, lanes, tap.before, tap.after, level);
            const float *two = line_at(&desk, &plane, axes, lanes, tap.after, tap.before, level);
            put_line(&desk, one, two, tap.share, out, out->data + c * out->plane + y * out->line, parts,
                     w * lanes / parts);
        }
    }
    give_back(memory);
    return 1;
}

static Axis stretched(ptrdiff_t size, ptrdiff_t n, int corners) {
    double factor = corners ? (double)(size - 1) / (double)(n > 1 ? n - 1 : 1) : (double)size / (double)n;
    return (Axis){factor, corners ? 0 : (factor - 1) / 2, size};
}

/* Resize an image, so that the centres of its corner pixels meet those of the output, or their edges do. */
static int resize(const Job *job) {
    int corners = *(const int32_t *)job->config;
    Axis y = stretched(job->image.height, job->out.height, corners);
    return resample_axes(job, (Axis[]){y, stretched(job->image.width, job->out.width, corners)}, PAD_EDGE, NULL);
}
