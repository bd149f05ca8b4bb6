/* Sums over windows, which are whole numbers. */

/* Averages over a box: sums along y get the line that comes in and lose the one that leaves. */
#define BOX(SUFFIX, SUM, READ)                                                                                         \
    static void slide_##SUFFIX(SUM *restrict sums, const byte *in, const byte *gone, ptrdiff_t n) {                    \
        if (gone)                                                                                                      \
            for (ptrdiff_t i = 0; i < n; i++) sums[i] = (SUM)(sums[i] + in[i] - gone[i]);                              \
        else                                                                                                           \
            for (ptrdiff_t i = 0; i < n; i++) sums[i] = (SUM)(sums[i] + in[i]);                                        \
    }                                                                                                                  \
    static void add_two_##SUFFIX(SUM *restrict to, const SUM *a, const SUM *b, ptrdiff_t n) {                          \
        for (ptrdiff_t i = 0; i < n; i++) to[i] = (SUM)(to[i] + a[i] + b[i]);                                          \
    }                                                                                                                  \
    static void average_##SUFFIX(const SUM *sums, byte *restrict to, float share, ptrdiff_t n) {                       \
        for (ptrdiff_t i = 0; i < n; i += 4 * NUMBERS) {                                                               \
            Numbers means[4];                                                                                          \
            for (int j = 0; j < 4; j++) means[j] = times(READ(sums + i + j * NUMBERS), all_of(share));                 \
            write_levels(to + i, means);                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    static void box_line_##SUFFIX(const SUM *sums, SUM *restrict all, ptrdiff_t count, ptrdiff_t step, ptrdiff_t n) {  \
        const SUM *second = sums + step, *third = sums + 2 * step;                                                     \
        if (count == 1)                                                                                                \
            memcpy(all, sums, (size_t)n * sizeof(SUM));                                                                \
        else if (count % 2)                                                                                            \
            for (ptrdiff_t i = 0; i < n; i++) all[i] = (SUM)(sums[i] + second[i] + third[i]);                          \
        else                                                                                                           \
            for (ptrdiff_t i = 0; i < n; i++) all[i] = (SUM)(sums[i] + second[i]);                                     \
        for (ptrdiff_t k = 2 + count % 2; k + 1 < count; k += 2)                                                       \
            add_two_##SUFFIX(all, sums + k * step, sums + (k + 1) * step, n);                                          \
    }                                                                                                                  \
    static void box_plane_##SUFFIX(const Image *image, const Image *out, Layout layout, ptrdiff_t plane,               \
                                   ptrdiff_t first, ptrdiff_t last, ptrdiff_t height, ptrdiff_t width, int border,     \
                                   byte *lines, SUM *sums) {                                                           \
        ptrdiff_t above = (height - 1) / 2, before = (width - 1) / 2, after = width / 2, places = height + 1;          \
        ptrdiff_t line = layout.width + (width - 1) * layout.step, pitch = line + ROOM;                                \
        byte *found = lines + places * pitch;                                                                          \
        memset(sums, 0, (size_t)line * sizeof(SUM));                                                                   \
        for (ptrdiff_t i = 0; i < last - first + height - 1; i++) {                                                    \
            byte *now = lines + i % places * pitch;                                                                    \
            load_line(image, layout, plane, first + i - above, before, after, border, now);                            \
            slide_##SUFFIX(sums, now, i < height ? NULL : lines + (i - height) % places * pitch, line);                \
            if (i < height - 1) continue;                                                                              \
            box_line_##SUFFIX(sums, sums + pitch, width, layout.step, layout.width);                                   \
            average_##SUFFIX(sums + pitch, found, 1 / (float)(height * width), layout.width);                          \
            store_line(out, layout, plane, first + i - height + 1, found);                                             \
        }                                                                                                              \
    }
BOX(short, uint16_t, numbers_of_words)
BOX(long, float, read_numbers)

/* Average an image over a window; one of an even size reaches further right and down. */
static int box_blur(const Job *job) {
    const WindowSize *size = job->config;
    const Image *image = &job->image, *out = &job->out;
    ptrdiff_t height = size->height, width = size->width;
    Layout layout = layout_of(image, out);
    ptrdiff_t pitch = layout.width + (width - 1) * layout.step + ROOM;
    float *sums = borrow((size_t)pitch * (2 * sizeof(float) + (size_t)height + 2));
    if (!sums) return 0;
    byte *lines = (byte *)(sums + 2 * pitch);
    for (ptrdiff_t plane = 0; plane < layout.planes; plane++)
        if (height * width <= 257)
            box_plane_short(image, out, layout, plane, job->first, job->last, height, width, size->border, lines,
                            (uint16_t *)sums);
        else
            box_plane_long(image, out, layout, plane, job->first, job->last, height, width, size->border, lines, sums);
    give_back(sums);
    return 1;
}

/* Move a line by a share of what its nine neighbours, with four times the middle, are above 13 times the middle. */
static void sharpen_line(const byte *const *lines, ptrdiff_t step, float share, uint16_t *restrict sums,
                         byte *restrict to, ptrdiff_t n) {
    const byte *above = lines[0], *here = lines[1], *below = lines[2];
    for (ptrdiff_t i = 0; i < n + 2 * step; i++) sums[i] = (uint16_t)(above[i] + here[i] + below[i]);
    uint16_t *nine = sums + n + 2 * step;
    for (ptrdiff_t i = 0; i < n; i++) nine[i] = (uint16_t)(sums[i] + sums[i + step] + sums[i + 2 * step]);
    for (ptrdiff_t i = 0; i < n; i += 4 * NUMBERS) {
        Numbers moved[4];
        for (int j = 0; j < 4; j++) {
            Numbers middle = numbers_of_bytes(here + step + i + j * NUMBERS);
            Numbers away = plus(numbers_of_words(nine + i + j * NUMBERS), times(middle, all_of(-9)));
            Numbers move = plus(plus(times(away, all_of(share)), all_of(ROUNDING)), all_of(-ROUNDING));
            moved[j] = plus(middle, move);
        }
        write_levels(to + i, moved);
    }
}

/* Move an image away from its smoothed copy, edges excepted. */
static int sharpen(const Job *job) {
    const Image *image = &job->image, *out = &job->out;
    double away = (1 - (double)*(const float *)job->params) / 13; /* from 256 on the step is to an end of the range */
    float share = away < -1000 ? -1000 : away > 1000 ? 1000 : (float)away;
    Layout layout = layout_of(image, out);
    ptrdiff_t n = layout.width, step = layout.step, height = image->height, pitch = n + ROOM;
    uint16_t *sums = borrow((size_t)pitch * (2 * sizeof(uint16_t) + 4));
    if (!sums) return 0;
    byte *bytes = (byte *)(sums + 2 * pitch), *found = bytes + 3 * pitch;
    for (ptrdiff_t plane = 0; plane < layout.planes; plane++)
        for (ptrdiff_t y = job->first - 2; y < job->last; y++) {
            if (y >= -1 && y + 1 < height)
                load_line(image, layout, plane, y + 1, 0, 0, REFLECT, bytes + (y + 1) % 3 * pitch);
            if (y < job->first) continue;
            const byte *lines[3], *now = bytes + y % 3 * pitch;
            for (int k = 0; k < 3; k++) lines[k] = bytes + (y + 2 + k) % 3 * pitch;
            int inside = y > 0 && y < height - 1 && n > 2 * step;
            if (inside) sharpen_line(lines, step, share, sums, found + step, n - 2 * step);
            memcpy(found, now, (size_t)(inside ? step : n));
            memcpy(found + n - step, now + n - step, (size_t)step);
            store_line(out, layout, plane, y, found);
        }
    give_back(sums);
    return 1;
}
