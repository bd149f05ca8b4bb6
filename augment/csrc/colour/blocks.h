/* Blocks of pixels as numbers, a plane a channel, that stay in the nearest cache. */

#define BLOCK 256
#define MOST_COLOURS 16 /* channels */
typedef float Plane[BLOCK];
typedef Plane Planes[3];

static void load_block(const Image *image, ptrdiff_t y, ptrdiff_t x, ptrdiff_t n, Plane *planes) {
    byte picked[BLOCK];
    Image part = *image;
    part.data += x * image->pixel, part.width = n;
    for (ptrdiff_t c = 0; c < image->channels; c++) {
        const byte *from = part.data + c * part.plane + y * part.line;
        if (image->pixel != 1) pick_line(&part, c, y, picked), from = picked;
        for (ptrdiff_t i = 0; i < n; i++) planes[c][i] = from[i];
        if (n < BLOCK) memset(planes[c] + n, 0, (size_t)(BLOCK - n) * sizeof(float));
    }
}

static void round_block(const float *from, byte *to) {
    for (ptrdiff_t i = 0; i < BLOCK; i += 4 * NUMBERS) {
        Numbers values[4];
        for (int j = 0; j < 4; j++) values[j] = read_numbers(from + i + j * NUMBERS);
        write_levels(to + i, values);
    }
}

/* Write planes as bytes; where there is only one, to all channels. */
static void store_block(const Image *out, ptrdiff_t y, ptrdiff_t x, ptrdiff_t n, Plane *planes, ptrdiff_t count) {
    byte levels[MOST_COLOURS][BLOCK];
    Image part = *out;
    part.data += x * out->pixel, part.width = n;
    for (ptrdiff_t c = 0; c < count; c++) round_block(planes[c], levels[c]);
    for (ptrdiff_t c = count; c < out->channels; c++) memcpy(levels[c], levels[0], BLOCK);
    store_channels(&part, y, levels[0], BLOCK);
}

static void store_floats(const Image *out, ptrdiff_t y, ptrdiff_t x, ptrdiff_t n, Plane *planes) {
    for (ptrdiff_t c = 0; c < out->channels; c++) {
        float *to = (float *)(void *)out->data + c * out->plane + y * out->line + x * out->pixel;
        if (out->pixel == 1)
            memcpy(to, planes[c], (size_t)n * sizeof(float));
        else
            for (ptrdiff_t i = 0; i < n; i++) to[i * out->pixel] = planes[c][i];
    }
}

static inline float luma(Plane *p, ptrdiff_t i) { return 0.299f * p[0][i] + 0.587f * p[1][i] + 0.114f * p[2][i]; }
