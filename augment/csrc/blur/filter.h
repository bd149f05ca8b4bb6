/* Weighted sums of shifted lines. */

/* The lines of a plane, with their borders, as floats: each is in one of ``count`` places until another needs it. */
typedef struct {
    const Image *image;
    Layout layout;
    int border;
    ptrdiff_t plane, reach_y, reach_x, count, pitch;
    float *numbers;
    byte *bytes;
} Ring;

static float *ring_line(const Ring *ring, ptrdiff_t y) {
    return ring->numbers + (y + ring->reach_y) % ring->count * ring->pitch;
}

static void ring_read(const Ring *ring, ptrdiff_t y) {
    ptrdiff_t n = ring->layout.width, step = ring->layout.step, width = n / step, i = 0;
    float *to = ring_line(ring, y), *inner = to + ring->reach_x * step;
    y = fold(y, ring->image->height, ring->border);
    if (y < 0) {
        memset(to, 0, (size_t)(n + 2 * ring->reach_x * step) * sizeof(float));
        return;
    }
    const byte *from = line_of(ring->image, ring->layout, ring->plane, y, ring->bytes);
    for (; i + NUMBERS <= n; i += NUMBERS) write_numbers(inner + i, numbers_of_bytes(from + i));
    for (; i < n; i++) inner[i] = from[i];
    for (i = ring->reach_x ? -ring->reach_x : width; i < width + ring->reach_x; i == -1 ? i = width : i++) {
        ptrdiff_t x = fold(i, width, ring->border);
        for (ptrdiff_t c = 0; c < step; c++) inner[i * step + c] = x < 0 ? 0 : inner[x * step + c];
    }
}

/* Add up ``count`` lines times their taps, the outer ``pairs`` at once, and write numbers or levels. */
static inline void add_up(const float *const *lines, const float *taps, ptrdiff_t count, ptrdiff_t pairs, float *to,
                          byte *levels, ptrdiff_t n) {
    int odd = count > 2 * pairs;
    for (ptrdiff_t i = 0; i < n; i += 4 * NUMBERS) {
        Numbers sums[4];
        for (int j = 0; j < 4; j++)
            sums[j] = odd ? times(read_numbers(lines[pairs] + i + j * NUMBERS), all_of(taps[pairs])) : all_of(0);
        for (ptrdiff_t k = 0; k < pairs; k++) {
            Numbers tap = all_of(taps[k]);
            const float *one = lines[k] + i, *other = lines[count - 1 - k] + i;
            for (int j = 0; j < 4; j++) {
                Numbers both = plus(read_numbers(one + j * NUMBERS), read_numbers(other + j * NUMBERS));
                sums[j] = plus(sums[j], times(both, tap));
            }
        }
        for (ptrdiff_t k = pairs + odd; k < count - pairs; k++) {
            Numbers tap = all_of(taps[k]);
            for (int j = 0; j < 4; j++)
                sums[j] = plus(sums[j], times(read_numbers(lines[k] + i + j * NUMBERS), tap));
        }
        if (levels)
            write_levels(levels + i, sums);
        else
            for (int j = 0; j < 4; j++) write_numbers(to + i + j * NUMBERS, sums[j]);
    }
}

static void blend_taps(const float *const *lines, const float *taps, ptrdiff_t count, float *to, byte *levels,
                        ptrdiff_t n) {
    ptrdiff_t pairs = count / 2;
    for (ptrdiff_t k = 0; k < pairs; k++)
        if (taps[k] != taps[count - 1 - k]) pairs = 0;
    switch (pairs ? count : 0) { /* loops over constants are unrolled */
    case 3: add_up(lines, taps, 3, 1, to, levels, n); break;
    case 5: add_up(lines, taps, 5, 2, to, levels, n); break;
    case 7: add_up(lines, taps, 7, 3, to, levels, n); break;
    default: add_up(lines, taps, count, pairs, to, levels, n);
    }
}

/* The taps of a filter: some anywhere in a window, and then a row of them that goes over their sums. */
typedef struct {
    const float *taps, *along;
    const int32_t *places; /* y and x of each tap, from the upper left corner of the window; NULL for one below another */
    ptrdiff_t count, count_along;
} Window;

/* Give a line of levels: sums of taps anywhere in the window, and sums of these along x where there are such taps. */
static void filter_line(const Ring *ring, const Window *window, const float **lines, ptrdiff_t y, float *sums,
                        byte *levels) {
    ptrdiff_t step = ring->layout.step, n = ring->layout.width;
    for (ptrdiff_t k = 0; k < window->count; k++) {
        ptrdiff_t down = window->places ? window->places[2 * k] : k, right = window->places ? window->places[2 * k + 1] : 0;
        lines[k] = ring_line(ring, y - ring->reach_y + down) + right * step;
    }
    if (!window->count_along) {
        blend_taps(lines, window->taps, window->count, NULL, levels, n);
        return;
    }
    blend_taps(lines, window->taps, window->count, sums, NULL, n + (window->count_along - 1) * step);
    for (ptrdiff_t k = 0; k < window->count_along; k++) lines[k] = sums + k * step;
    blend_taps(lines, window->along, window->count_along, NULL, levels, n);
}

/* Correlate an image with a window. */
static int filter_by(const Job *job, const Window *window, int height, int width, int border) {
    const Image *image = &job->image, *out = &job->out;
    Ring ring = {.image = image, .layout = layout_of(image, out), .border = border};
    ring.reach_y = height / 2, ring.reach_x = width / 2, ring.count = 2 * ring.reach_y + 1;
    ring.pitch = ring.layout.width + 2 * ring.reach_x * ring.layout.step + ROOM;
    ring.numbers = borrow_zeros((size_t)((ring.count + 2) * ring.pitch), sizeof(float));
    const float **lines = borrow((size_t)(window->count + window->count_along) * sizeof(float *));
    int done = ring.numbers && lines;
    for (ring.plane = 0; done && ring.plane < ring.layout.planes; ring.plane++) {
        float *sums = ring.numbers + ring.count * ring.pitch;
        ring.bytes = (byte *)(sums + ring.pitch);
        for (ptrdiff_t y = job->first - ring.reach_y; y < job->first + ring.reach_y; y++) ring_read(&ring, y);
        for (ptrdiff_t y = job->first; y < job->last; y++) {
            ring_read(&ring, y + ring.reach_y);
            filter_line(&ring, window, lines, y, sums, ring.bytes);
            store_line(out, ring.layout, ring.plane, y, ring.bytes);
        }
    }
    give_back(lines);
    give_back(ring.numbers);
    return done;
}

/* The size of a window, and what lies beyond the image. */
typedef struct {
    int32_t height, width, border;
} WindowSize;

/* Correlate with one row of taps along y, then with another along x. */
static int separable_filter(const Job *job) {
    const WindowSize *size = job->config;
    const float *taps = job->params;
    Window window = {taps, taps + size->height, NULL, size->height, size->width};
    return filter_by(job, &window, size->height, size->width, size->border);
}

/* Correlate with a square of taps; those that are zero cost nothing. */
static int square_filter(const Job *job) {
    const WindowSize *size = job->config;
    const float *all = job->params;
    ptrdiff_t area = (ptrdiff_t)size->height * size->width, count = 0;
    float *taps = borrow((size_t)area * (sizeof(float) + 2 * sizeof(int32_t)));
    if (!taps) return 0;
    int32_t *places = (int32_t *)(taps + area);
    for (ptrdiff_t i = 0; i < area; i++)
        if (all[i] != 0) {
            places[2 * count] = (int32_t)(i / size->width), places[2 * count + 1] = (int32_t)(i % size->width);
            taps[count++] = all[i];
        }
    Window window = {taps, NULL, places, count, 0};
    int done = filter_by(job, &window, size->height, size->width, size->border);
    give_back(taps);
    return done;
}
