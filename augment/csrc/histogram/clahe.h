/* Contrast limited adaptive histogram equalization: as ``kernels/histogram/clahe.py`` defines it. */

/* Where the tiles of an axis lie: ``count`` of ``extent`` pixels cover it, and some behind its end. */
typedef struct {
    ptrdiff_t n, count, extent;
} Tiling;

/* Give the place that one behind the end of an axis stands for. */
static ptrdiff_t covered(Tiling tiling, ptrdiff_t i) {
    ptrdiff_t folded = i < tiling.n ? i : 2 * (tiling.n - 1) - i;
    return folded < 0 ? 0 : folded;
}

/* Say how many centres of tiles a pixel lies behind, and how far it is from the last of them. */
static ptrdiff_t centres_before(Tiling tiling, ptrdiff_t i, float *part) {
    double place = ((double)i + 0.5) / (double)tiling.extent + 0.5;
    *part = (float)(place - (double)(ptrdiff_t)place);
    return (ptrdiff_t)place;
}

static inline ptrdiff_t first_of(ptrdiff_t centres) { return centres > 0 ? centres - 1 : 0; }
static inline ptrdiff_t second_of(ptrdiff_t centres, ptrdiff_t count) { return centres < count ? centres : count - 1; }

/* Write where pixels begin that lie behind as many centres as each number says, and how far they are from the last. */
static void lay_out(Tiling tiling, int32_t *starts, float *parts) {
    ptrdiff_t passed = 0;
    starts[0] = 0;
    for (ptrdiff_t x = 0; x < tiling.n; x++)
        for (ptrdiff_t now = centres_before(tiling, x, parts + x); passed < now;) starts[++passed] = (int32_t)x;
    while (passed <= tiling.count) starts[++passed] = (int32_t)tiling.n;
}

/* Cut the peaks of a histogram, deal out evenly what was above, and accumulate. */
static void clipped_table(const Counts *counts, ptrdiff_t pixels, ptrdiff_t most_of_one, byte *table) {
    ptrdiff_t kept = 0, total = 0;
    float scale = (float)((LEVELS - 1) / (double)pixels);
    ptrdiff_t levels[LEVELS];
    for (int level = 0; level < LEVELS; level++) {
        ptrdiff_t count = (ptrdiff_t)counts[0][level] + counts[1][level];
        levels[level] = count < most_of_one ? count : most_of_one;
        kept += levels[level];
    }
    ptrdiff_t share = (pixels - kept) / LEVELS, rest = (pixels - kept) % LEVELS, stride = LEVELS / (rest ? rest : 1);
    for (int level = 0; level < LEVELS; level++) {
        total += levels[level] + share + (level % stride == 0 && level < stride * rest);
        table[level] = to_byte((float)total * scale);
    }
}

/* Write the tables of a row of tiles. */
static void tile_tables(const Image *image, ptrdiff_t c, Tiling down, Tiling across, ptrdiff_t row, double limit,
                        Counts *counts, byte *line, byte *tables) {
    ptrdiff_t pixels = down.extent * across.extent, most_of_one = pixels;
    if (limit > 0 && limit < LEVELS) most_of_one = (ptrdiff_t)(limit * (double)pixels / LEVELS);
    if (most_of_one < 1) most_of_one = 1;
    memset(counts, 0, (size_t)(2 * across.count) * sizeof(Counts));
    for (ptrdiff_t y = row * down.extent; y < (row + 1) * down.extent; y++) {
        pick_line(image, c, covered(down, y), line);
        for (ptrdiff_t x = across.n; x < across.count * across.extent; x++) line[x] = line[covered(across, x)];
        for (ptrdiff_t k = 0; k < across.count; k++)
            count_line(line + k * across.extent, 1, across.extent, counts + 2 * k);
    }
    for (ptrdiff_t k = 0; k < across.count; k++)
        clipped_table(counts + 2 * k, pixels, most_of_one, tables + k * LEVELS);
}

static inline Numbers moved(Numbers from, Numbers to, Numbers part) { return plus(from, times(minus(to, from), part)); }

/* Blend the tables above and below a line. */
static void blend_tables(const byte *above, const byte *below, float part, float *to, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i += NUMBERS)
        write_numbers(to + i, moved(numbers_of_bytes(above + i), numbers_of_bytes(below + i), all_of(part)));
}

/* Look a line up in the tables left and right of each pixel, which change at ``starts``, and blend what they say. */
static void blend_between(const byte *line, const float *tables, Tiling across, const int32_t *starts,
                         const float *parts, float *left, float *right, byte *to) {
    for (ptrdiff_t k = 0; k <= across.count; k++) {
        const float *one = tables + first_of(k) * LEVELS, *two = tables + second_of(k, across.count) * LEVELS;
        for (ptrdiff_t x = starts[k]; x < starts[k + 1]; x++) {
            left[x] = one[line[x]];
            right[x] = two[line[x]];
        }
    }
    for (ptrdiff_t x = 0; x < across.n; x += 4 * NUMBERS) {
        Numbers found[4];
        for (ptrdiff_t j = 0, i = x; j < 4; j++, i += NUMBERS)
            found[j] = moved(read_numbers(left + i), read_numbers(right + i), read_numbers(parts + i));
        write_levels(to + x, found);
    }
}

typedef struct {
    int32_t rows, columns;
} Grid;

/* Equalise every tile by a table of its own, and blend those around each pixel. The params are the limit. */
static int clahe(const Job *job) {
    const Image *image = &job->image, *out = &job->out;
    const Grid *grid = job->config;
    ptrdiff_t rows = grid->rows, columns = grid->columns;
    double limit = *(const double *)job->params;
    Tiling down = {image->height, rows, (image->height + rows - 1) / rows};
    Tiling across = {image->width, columns, (image->width + columns - 1) / columns};
    ptrdiff_t width = columns * across.extent + ROOM, row = columns * LEVELS;
    ptrdiff_t plane = rows * row, room = 3 * row + 4 * width, bytes = (plane + width) * (image->channels + 1);
    Counts *counts = borrow((size_t)room * sizeof(float) + (size_t)bytes);
    if (!counts) return 0;
    float *blended = (float *)(counts + 2 * columns), *parts = blended + row;
    float *left = parts + width, *right = left + width;
    int32_t *starts = (int32_t *)(right + width);
    byte *tables = (byte *)(starts + width), *line = tables + image->channels * plane, *found = line + width;
    lay_out(across, starts, parts);
    for (ptrdiff_t c = 0; c < image->channels; c++)
        for (ptrdiff_t k = 0; k < rows; k++)
            tile_tables(image, c, down, across, k, limit, counts, line, tables + c * plane + k * row);
    for (ptrdiff_t y = 0; y < image->height; y++) {
        float part;
        ptrdiff_t centres = centres_before(down, y, &part), above = first_of(centres), below = second_of(centres, rows);
        for (ptrdiff_t c = 0; c < image->channels; c++) {
            const byte *own = tables + c * plane;
            pick_line(image, c, y, line);
            blend_tables(own + above * row, own + below * row, part, blended, row);
            blend_between(line, blended, across, starts, parts, left, right, found + c * width);
        }
        store_channels(out, y, found, width);
    }
    give_back(counts);
    return 1;
}
