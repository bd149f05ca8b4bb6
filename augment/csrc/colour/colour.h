/* Adjustments of colour, and blends of channels, on blocks of pixels that stay in the nearest cache. */

#define BLOCK 256
typedef float Planes[3][BLOCK];

static void load_block(const Image *image, ptrdiff_t y, ptrdiff_t x, ptrdiff_t n, Planes planes) {
    byte picked[BLOCK];
    Image part = *image;
    part.data += x * image->pixel, part.width = n;
    for (ptrdiff_t c = 0; c < image->channels; c++) {
        const byte *from = part.data + c * part.plane + y * part.line;
        if (image->pixel != 1) pick_line(&part, c, y, picked), from = picked;
        for (ptrdiff_t i = 0; i < n; i++) planes[c][i] = from[i];
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
static void store_block(const Image *out, ptrdiff_t y, ptrdiff_t x, ptrdiff_t n, Planes planes, ptrdiff_t count) {
    byte levels[3][BLOCK];
    Image part = *out;
    part.data += x * out->pixel, part.width = n;
    for (ptrdiff_t c = 0; c < count; c++) round_block(planes[c], levels[c]);
    for (ptrdiff_t c = count; c < out->channels; c++) memcpy(levels[c], levels[0], BLOCK);
    if (out->channels == 3)
        store_channels(&part, y, levels[0], BLOCK);
    else
        for (ptrdiff_t i = 0; i < n; i++) part.data[y * out->line + i * out->pixel] = levels[0][i];
}

static void store_floats(const Floats *out, ptrdiff_t y, ptrdiff_t x, ptrdiff_t n, Planes planes) {
    for (ptrdiff_t c = 0; c < out->channels; c++) {
        float *to = out->data + c * out->plane + y * out->line + x * out->pixel;
        if (out->pixel == 1)
            memcpy(to, planes[c], (size_t)n * sizeof(float));
        else
            for (ptrdiff_t i = 0; i < n; i++) to[i * out->pixel] = planes[c][i];
    }
}

static inline float luma(Planes p, ptrdiff_t i) { return 0.299f * p[0][i] + 0.587f * p[1][i] + 0.114f * p[2][i]; }

static void scale_saturation(Planes p, float factor) {
    for (ptrdiff_t i = 0; i < BLOCK; i++) {
        float value = most(most(p[0][i], p[1][i]), p[2][i]), low = least(least(p[0][i], p[1][i]), p[2][i]);
        float reach = least(value / (value - low + 1e-19f), factor);
        for (int c = 0; c < 3; c++) p[c][i] = value + (p[c][i] - value) * reach;
    }
}

static inline float turned(float channel, float following, float before, float chroma, float reach, float rest) {
    float kept = most(channel - most(following - rest, 0), 0);
    return least(kept + least(before, most(reach - following, 0)), chroma);
}

static inline void turn(Planes p, float share, int thirds, int backwards) {
    for (ptrdiff_t i = 0; i < BLOCK; i++) {
        float low = least(least(p[0][i], p[1][i]), p[2][i]);
        float above[3] = {p[0][i] - low, p[1][i] - low, p[2][i] - low};
        float chroma = most(most(above[0], above[1]), above[2]), reach = chroma * share, rest = chroma - reach;
        float all[3];
        for (int c = 0; c < 3; c++) {
            float following = above[(c + (backwards ? 2 : 1)) % 3], before = above[(c + (backwards ? 1 : 2)) % 3];
            all[c] = turned(above[c], following, before, chroma, reach, rest) + low;
        }
        for (int c = 0; c < 3; c++) p[(c + thirds) % 3][i] = all[c];
    }
}

/* Permute the channels for every third of a turn, and let them rise and fall for the rest, at most a sextant. */
static void rotate_hue(Planes p, float turns) {
    float thirds = turns * 3 + ROUNDING - ROUNDING, part = turns * 6 - 2 * thirds;
    switch (((int)thirds % 3 + 3) % 3 * 2 + (part < 0)) { /* loops with constants are vectorised */
    case 0: turn(p, part, 0, 0); break;
    case 1: turn(p, -part, 0, 1); break;
    case 2: turn(p, part, 1, 0); break;
    case 3: turn(p, -part, 1, 1); break;
    case 4: turn(p, part, 2, 0); break;
    case 5: turn(p, -part, 2, 1); break;
    }
}

static inline float cut(float level) { return least(most(level, 0), 255); }

/* Take the planes ``factor`` times, add an offset, and cut. */
static void line(Planes p, ptrdiff_t channels, float factor, float offset) {
    for (ptrdiff_t c = 0; c < channels; c++)
        for (ptrdiff_t i = 0; i < BLOCK; i++) p[c][i] = cut(p[c][i] * factor + offset);
}

static void blend_luma(Planes p, float factor) {
    for (ptrdiff_t i = 0; i < BLOCK; i++) {
        float offset = luma(p, i) * (1 - factor);
        for (int c = 0; c < 3; c++) p[c][i] = cut(p[c][i] * factor + offset);
    }
}

static void apply_step(Planes p, ptrdiff_t channels, Step step, float mean) {
    int kind = (int)step.kind;
    if (kind == SCALE)
        line(p, channels, step.factor, 0);
    else if (kind == ADD)
        line(p, channels, 1, (step.factor - 1) * 255);
    else if (kind == BLEND_MEAN)
        line(p, channels, step.factor, mean * (1 - step.factor));
    else if (channels == 1)
        return; /* what is grey has no colour */
    else if (kind == BLEND_LUMA)
        blend_luma(p, step.factor);
    else if (kind == SCALE_SATURATION)
        scale_saturation(p, step.factor);
    else
        rotate_hue(p, step.factor);
}

static float sum_of_luma(Planes p, ptrdiff_t channels, ptrdiff_t n) {
    float sums[8] = {0}, total = 0; /* eight, that they are added up side by side */
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) sums[k] += channels == 3 ? luma(p, i + k) : p[0][i + k];
    for (; i < n; i++) total += channels == 3 ? luma(p, i) : p[0][i];
    for (int k = 0; k < 8; k++) total += sums[k];
    return total;
}

/* Give the mean of the luma after some steps. */
static float mean_after(const Image *image, const Step *steps, ptrdiff_t count) {
    double total = 0;
    _Alignas(64) Planes p = {{0}};
    for (ptrdiff_t y = 0; y < image->height; y++)
        for (ptrdiff_t x = 0; x < image->width; x += BLOCK) {
            ptrdiff_t n = image->width - x < BLOCK ? image->width - x : BLOCK;
            load_block(image, y, x, n, p);
            for (ptrdiff_t k = 0; k < count; k++) apply_step(p, image->channels, steps[k], 0);
            total += sum_of_luma(p, image->channels, n);
        }
    return (float)(total / (double)(image->height * image->width));
}

/* Blend the channels: each gets shares of all and an addition, or where there are two numbers, a share of itself. */
static void blend(Planes p, ptrdiff_t channels, const float *shares, ptrdiff_t width, Planes out) {
    for (ptrdiff_t c = 0; c < channels; c++) {
        const float *share = shares + c * width;
        if (width == 2)
            for (ptrdiff_t i = 0; i < BLOCK; i++) out[c][i] = p[c][i] * share[0] + share[1];
        else
            for (ptrdiff_t i = 0; i < BLOCK; i++)
                out[c][i] = p[0][i] * share[0] + p[1][i] * share[1] + p[2][i] * share[2] + share[3];
    }
}

/* Adjust the colour of an image of one or three channels on levels, and write bytes, or floats that are not rounded. */
static void adjust_colour(const Image *image, const Image *out, const Floats *wide, const Step *steps, ptrdiff_t count,
                          const float *shares, ptrdiff_t share_width) {
    Image flat[2] = {*image, *out};
    if (image->line == image->width * image->pixel && out->line == out->width * out->pixel) { /* as a single line */
        for (int k = 0; k < 2; k++) flat[k].width *= flat[k].height, flat[k].height = 1;
        image = flat, out = flat + 1;
    }
    float means[8] = {0};
    for (ptrdiff_t k = 0; k < count; k++)
        if ((int)steps[k].kind == BLEND_MEAN) means[k] = mean_after(image, steps, k);
    int grey = !wide && share_width == 4 && !memcmp(shares, shares + 4, 8 * sizeof(float));
    _Alignas(64) Planes p = {{0}}, q;
    for (ptrdiff_t y = 0; y < image->height; y++)
        for (ptrdiff_t x = 0; x < image->width; x += BLOCK) {
            ptrdiff_t n = image->width - x < BLOCK ? image->width - x : BLOCK;
            load_block(image, y, x, n, p);
            for (ptrdiff_t k = 0; k < count; k++) apply_step(p, image->channels, steps[k], means[k]);
            if (share_width) blend(p, grey ? 1 : image->channels, shares, share_width, q);
            if (wide)
                store_floats(wide, y, x, n, share_width ? q : p);
            else
                store_block(out, y, x, n, share_width ? q : p, grey ? 1 : image->channels);
        }
}
