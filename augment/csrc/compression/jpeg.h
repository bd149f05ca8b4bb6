/* JPEG without its entropy coding: what ``kernels/compression/jpeg.py`` defines, on lines and blocks that stay in the cache. */

#include <math.h>

enum { LINES = 8 }; /* lines, and columns, of a block */

/* Half the cosines of multiples of pi / 16. */
#define C1 0.49039264020161522f
#define C2 0.46193976625564337f
#define C3 0.41573480615127262f
#define C4 0.35355339059327376f
#define C5 0.27778511650980111f
#define C6 0.19134171618254489f
#define C7 0.09754516100806413f

static inline Numbers four(const Numbers *v, float a, float b, float c, float d) {
    Numbers one = plus(times(v[0], all_of(a)), times(v[1], all_of(b)));
    return plus(one, plus(times(v[2], all_of(c)), times(v[3], all_of(d))));
}

/* Give the orthonormal cosine transform of eight samples, by way of sums and differences about their middle. */
static inline void dct(Numbers *v) {
    Numbers s[4], d[4];
    for (int k = 0; k < 4; k++) s[k] = plus(v[k], v[7 - k]), d[k] = minus(v[k], v[7 - k]);
    Numbers a = plus(s[0], s[3]), b = plus(s[1], s[2]), c = minus(s[0], s[3]), e = minus(s[1], s[2]);
    v[0] = times(plus(a, b), all_of(C4));
    v[4] = times(minus(a, b), all_of(C4));
    v[2] = plus(times(c, all_of(C2)), times(e, all_of(C6)));
    v[6] = minus(times(c, all_of(C6)), times(e, all_of(C2)));
    v[1] = four(d, C1, C3, C5, C7);
    v[3] = four(d, C3, -C7, -C1, -C5);
    v[5] = four(d, C5, -C1, C7, C3);
    v[7] = four(d, C7, -C5, C3, -C1);
}

/* Invert ``dct``. */
static inline void inverse_dct(Numbers *v) {
    Numbers a = times(plus(v[0], v[4]), all_of(C4)), b = times(minus(v[0], v[4]), all_of(C4));
    Numbers c = plus(times(v[2], all_of(C2)), times(v[6], all_of(C6)));
    Numbers d = minus(times(v[2], all_of(C6)), times(v[6], all_of(C2)));
    Numbers even[4] = {plus(a, c), plus(b, d), minus(b, d), minus(a, c)}, x[4] = {v[1], v[3], v[5], v[7]};
    Numbers odd[4] = {four(x, C1, C3, C5, C7), four(x, C3, -C7, -C1, -C5), four(x, C5, -C1, C7, C3),
                      four(x, C7, -C5, C3, -C1)};
    for (int k = 0; k < 4; k++) v[k] = plus(even[k], odd[k]), v[7 - k] = minus(even[k], odd[k]);
}

/* Quantise by steps, rounding softly: what is left of the nearest whole number goes in as its cube. */
static inline void quantise(Numbers *v, const float *steps) {
    for (int k = 0; k < LINES; k++) {
        Numbers step = read_numbers(steps + LINES * k), quotient = over(v[k], step);
        Numbers whole = plus(plus(quotient, all_of(ROUNDING)), all_of(-ROUNDING)), rest = minus(quotient, whole);
        v[k] = times(plus(whole, times(times(rest, rest), rest)), step);
    }
}

static inline void read_columns(Numbers *v, const float *from, ptrdiff_t pitch) {
    for (int k = 0; k < LINES; k++) v[k] = read_numbers(from + k * pitch);
}

static inline void write_columns(const Numbers *v, float *to, ptrdiff_t pitch) {
    for (int k = 0; k < LINES; k++) write_numbers(to + k * pitch, v[k]);
}

/* Code and decode a block by steps that are transposed. */
static void code_block(float *block, ptrdiff_t pitch, const float *steps) {
    float work[64], turned[64];
    Numbers v[LINES];
    for (ptrdiff_t i = 0; i < LINES; i += NUMBERS) {
        read_columns(v, block + i, pitch);
        dct(v);
        write_columns(v, work + i, LINES);
    }
    transpose_block(work, turned);
    for (ptrdiff_t i = 0; i < LINES; i += NUMBERS) {
        read_columns(v, turned + i, LINES);
        dct(v);
        quantise(v, steps + i);
        inverse_dct(v);
        write_columns(v, work + i, LINES);
    }
    transpose_block(work, turned);
    for (ptrdiff_t i = 0; i < LINES; i += NUMBERS) {
        read_columns(v, turned + i, LINES);
        inverse_dct(v);
        write_columns(v, block + i, pitch);
    }
}

#define BLUE 0.564f
#define RED 0.713f
#define SHIFT 128.0f
#define NEUTRAL 127.5f

/* Write lines of luma, of blue and of red, the image repeated beyond its edges; those that are NULL are left out. */
static void split_line(const Image *image, ptrdiff_t y, ptrdiff_t width, float *y_line, float *blue, float *red) {
    Planes p = {{0}};
    if (y >= image->height) y = image->height - 1;
    for (ptrdiff_t x = 0; x < width; x += BLOCK) {
        ptrdiff_t n = width - x < BLOCK ? width - x : BLOCK, inside = image->width - x < n ? image->width - x : n;
        load_block(image, y, x, inside, p);
        for (ptrdiff_t c = 0; c < 3; c++)
            for (ptrdiff_t i = inside; i < n; i++) p[c][i] = p[c][inside - 1];
        for (ptrdiff_t i = 0; y_line && i < n; i++) y_line[x + i] = luma(p, i) - SHIFT;
        for (ptrdiff_t i = 0; blue && i < n; i++) {
            float level = luma(p, i);
            blue[x + i] = (p[2][i] - level) * BLUE + (NEUTRAL - SHIFT);
            red[x + i] = (p[0][i] - level) * RED + (NEUTRAL - SHIFT);
        }
    }
}

/* Take every other one of sums of four neighbours, mirrored about the centres of edge pixels. */
static void halve_line(float *line, ptrdiff_t n, float side, float middle, float *restrict to) {
    line[-1] = line[1], line[n] = line[n - 2];
    for (ptrdiff_t i = 0; i < n / 2; i++)
        to[i] = (line[2 * i] + line[2 * i + 1]) * middle + (line[2 * i - 1] + line[2 * i + 2]) * side;
}

static void blend_four(float *const *lines, ptrdiff_t n, float side, float middle, float *restrict to) {
    for (ptrdiff_t i = 0; i < n; i++)
        to[i] = (lines[1][i] + lines[2][i]) * middle + (lines[0][i] + lines[3][i]) * side;
}

/* Code both planes of chroma at half the resolution; ``ring`` has four lines of each, and one more. */
static void code_chroma(const Image *image, ptrdiff_t height, ptrdiff_t width, const float *steps, float *chroma,
                        float *ring) {
    float side = (float)(exp(-2) / (1 + 2 * exp(-2)) / 2), middle = (float)(0.5 - exp(-2) / (1 + 2 * exp(-2)) / 2);
    ptrdiff_t half = width / 2, area = height / 2 * half;
    float *line = ring + 8 * width + 1;
    for (ptrdiff_t y = 0; y < height / 2; y++) {
        for (ptrdiff_t k = y ? 2 * y + 1 : 0; k <= 2 * y + 2 && k < height; k++)
            split_line(image, k, width, NULL, ring + k % 4 * width, ring + (4 + k % 4) * width);
        for (ptrdiff_t c = 0; c < 2; c++) {
            float *lines[4];
            for (int k = 0; k < 4; k++) lines[k] = ring + (4 * c + fold(2 * y - 1 + k, height, REFLECT) % 4) * width;
            blend_four(lines, width, side, middle, line);
            halve_line(line, width, side, middle, chroma + c * area + y * half);
        }
        for (ptrdiff_t c = 0; y % LINES == LINES - 1 && c < 2; c++)
            for (ptrdiff_t x = 0; x < half; x += LINES)
                code_block(chroma + c * area + (y - LINES + 1) * half + x, half, steps);
    }
}

/* Interpolate between two lines of chroma, and then between neighbours: places lie a quarter from the nearest. */
static void double_line(const float *near, const float *far, ptrdiff_t half, float *line, float *restrict to) {
    for (ptrdiff_t i = 0; i < half; i++) line[i] = near[i] + 0.25f * (far[i] - near[i]);
    line[-1] = line[0], line[half] = line[half - 1];
    for (ptrdiff_t i = 0; i < half; i++) {
        to[2 * i] = line[i] + 0.25f * (line[i - 1] - line[i]) + (SHIFT - NEUTRAL);
        to[2 * i + 1] = line[i] + 0.25f * (line[i + 1] - line[i]) + (SHIFT - NEUTRAL);
    }
}

static inline void join_numbers(const float *luma_at, const float *blue, const float *red, Numbers *r, Numbers *g,
                                Numbers *b) {
    Numbers level = plus(read_numbers(luma_at), all_of(SHIFT)), u = read_numbers(blue), v = read_numbers(red);
    *r = plus(level, times(v, all_of(1 / RED)));
    *g = minus(minus(level, times(v, all_of(0.299f / RED / 0.587f))), times(u, all_of(0.114f / BLUE / 0.587f)));
    *b = plus(level, times(u, all_of(1 / BLUE)));
}

/* Write a line of colours, of which ``levels`` has room for all. */
static void join_line(const Image *out, ptrdiff_t y, const float *luma_at, const float *blue, const float *red,
                      byte *levels) {
    ptrdiff_t pitch = out->width + ROOM;
    byte *planes[3] = {levels, levels + pitch, levels + 2 * pitch};
    for (ptrdiff_t x = 0; x < out->width; x += 4 * NUMBERS) {
        Numbers r[4], g[4], b[4];
        for (ptrdiff_t j = 0, at = x; j < 4; j++, at += NUMBERS)
            join_numbers(luma_at + at, blue + at, red + at, r + j, g + j, b + j);
        write_levels(planes[0] + x, r), write_levels(planes[1] + x, g), write_levels(planes[2] + x, b);
    }
    store_channels(out, y, levels, pitch);
}

/* Code and decode an image of three channels with tables of luma and chroma; 0 where there is no memory. */
static int jpeg(const Job *job) {
    const Image *image = &job->image, *out = &job->out;
    const float *tables = job->params;
    ptrdiff_t height = (image->height + 15) / 16 * 16, width = (image->width + 15) / 16 * 16, half = width / 2;
    float *chroma = borrow((size_t)(height * half + 13 * width + 4 * ROOM) * sizeof(float)), steps[2][64];
    if (!chroma) return 0;
    for (int k = 0; k < 2; k++) transpose_block(tables + 64 * k, steps[k]);
    float *lines = chroma + height * half, *blue = lines + LINES * width, *red = blue + width, *line = red + width + 1;
    byte *levels = (byte *)(line + half + ROOM);
    code_chroma(image, height, width, steps[1], chroma, lines);
    for (ptrdiff_t top = 0; top < image->height; top += LINES) {
        for (ptrdiff_t y = 0; y < LINES; y++) split_line(image, top + y, width, lines + y * width, NULL, NULL);
        for (ptrdiff_t x = 0; x < width; x += LINES) code_block(lines + x, width, steps[0]);
        for (ptrdiff_t y = top; y < top + LINES && y < image->height; y++) {
            ptrdiff_t near = y / 2, far = fold(y % 2 ? near + 1 : near - 1, height / 2, REPLICATE);
            float *other = chroma + height / 2 * half;
            double_line(chroma + near * half, chroma + far * half, half, line, blue);
            double_line(other + near * half, other + far * half, half, line, red);
            join_line(out, y, lines + (y - top) * width, blue, red, levels);
        }
    }
    give_back(chroma);
    return 1;
}
