/* Tables that the levels of a whole plane decide. */

#define LEVELS 256
#define MOST_CHANNELS 16
#define PLACES 96 /* a multiple of 1, 2, 3 and 4 channels side by side */
typedef uint32_t Counts[LEVELS];

/* Count the levels of a line in two histograms by turns, as neighbours that are alike would wait for each other. */
static void count_line(const byte *from, ptrdiff_t pixel, ptrdiff_t n, Counts *counts) {
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4, from += 4 * pixel) {
        counts[0][from[0]]++;
        counts[1][from[pixel]]++;
        counts[0][from[2 * pixel]]++;
        counts[1][from[3 * pixel]]++;
    }
    for (; i < n; i++, from += pixel) counts[0][*from]++;
}

/* Say how a histogram is flattened, as the PIL's ``ImageOps.equalize`` does; 0 where it stays. */
static int equalizing_table(const uint32_t *counts, byte *table) {
    uint32_t total = 0, below = 0, highest = 0;
    for (int level = 0; level < LEVELS; level++) {
        total += counts[level];
        if (counts[level]) highest = counts[level];
    }
    uint32_t step = (total - highest) / (LEVELS - 1);
    for (int level = 0; step && level < LEVELS; level++) {
        uint32_t entry = (below + step / 2) / step;
        table[level] = (byte)(entry < LEVELS ? entry : LEVELS - 1);
        below += counts[level];
    }
    return step > 0;
}

/* Say how the levels between two are stretched over all; 0 where they stay. */
static int stretching_table(int low, int high, byte *table) {
    if (low >= high || (low == 0 && high == LEVELS - 1)) return 0;
    float scale = (float)((LEVELS - 1) / (double)(high - low));
    for (int level = 0; level < LEVELS; level++) table[level] = to_byte((float)(level - low) * scale);
    return 1;
}

/* Find the lowest and the highest of places ``PLACES`` apart: ``low`` and ``high`` have one for each of them. */
static void extremes(const byte *from, ptrdiff_t n, byte *restrict low, byte *restrict high) {
    ptrdiff_t i = 0;
    for (; i + PLACES <= n; i += PLACES)
        for (int k = 0; k < PLACES; k++) {
            low[k] = from[i + k] < low[k] ? from[i + k] : low[k];
            high[k] = from[i + k] > high[k] ? from[i + k] : high[k];
        }
    for (ptrdiff_t k = 0; i + k < n; k++) {
        low[k] = from[i + k] < low[k] ? from[i + k] : low[k];
        high[k] = from[i + k] > high[k] ? from[i + k] : high[k];
    }
}

/* Give every byte its entry in the table of its channel; 0 where there is no memory. */
static int look_up_channels(const Image *image, const Image *out, const byte *tables) {
    ptrdiff_t pitch = image->width;
    byte *line = borrow((size_t)(pitch * (image->channels + 1)));
    if (!line) return 0;
    for (ptrdiff_t y = 0; y < image->height; y++) {
        for (ptrdiff_t c = 0; c < image->channels; c++) {
            pick_line(image, c, y, line);
            look_up_line(line, line + (c + 1) * pitch, image->width, tables + c * LEVELS);
        }
        store_channels(out, y, line + pitch, pitch);
    }
    give_back(line);
    return 1;
}

static void keep_levels(byte *table) {
    for (int level = 0; level < LEVELS; level++) table[level] = (byte)level;
}

/* Flatten the histogram of every channel. */
static int equalize(const Job *job) {
    const Image *image = &job->image;
    byte *tables = borrow((size_t)(image->channels * LEVELS));
    if (!tables) return 0;
    for (ptrdiff_t c = 0; c < image->channels; c++) {
        Counts counts[2] = {{0}};
        for (ptrdiff_t y = 0; y < image->height; y++)
            count_line(image->data + c * image->plane + y * image->line, image->pixel, image->width, counts);
        for (int level = 0; level < LEVELS; level++) counts[0][level] += counts[1][level];
        if (!equalizing_table(counts[0], tables + c * LEVELS)) keep_levels(tables + c * LEVELS);
    }
    int done = look_up_channels(image, &job->out, tables);
    give_back(tables);
    return done;
}

/* Write the tables that stretch ``step`` channels from ``c`` on, which lie side by side where they are several. */
static void stretching_tables(const Image *image, ptrdiff_t c, int step, byte *tables) {
    byte low[PLACES], high[PLACES];
    memset(low, LEVELS - 1, PLACES), memset(high, 0, PLACES);
    for (ptrdiff_t y = 0; y < image->height; y++) {
        const byte *from = image->data + c * image->plane + y * image->line;
        if (step > 1 || image->pixel == 1)
            extremes(from, image->width * step, low, high);
        else
            for (ptrdiff_t x = 0; x < image->width; x++) extremes(from + x * image->pixel, 1, low, high);
    }
    for (int part = 0; part < step; part++) {
        int lowest = LEVELS - 1, highest = 0;
        for (int k = part; k < PLACES; k += step) {
            lowest = low[k] < lowest ? low[k] : lowest;
            highest = high[k] > highest ? high[k] : highest;
        }
        if (!stretching_table(lowest, highest, tables + part * LEVELS)) keep_levels(tables + part * LEVELS);
    }
}

/* Move the lowest level of every channel to 0 and the highest to 255; 0 where there is no memory. */
static int stretch(const Image *image, const Image *out) {
    byte tables[MOST_CHANNELS * LEVELS];
    int step = interleaved(image) && image->channels <= 4 ? (int)image->channels : 1;
    for (ptrdiff_t c = 0; c < image->channels; c += step) stretching_tables(image, c, step, tables + c * LEVELS);
    return look_up_channels(image, out, tables);
}
