/* Recolouring: programs of steps on the channels of pixels, block by block. */

#define MOST_PARTS 16 /* of a program */

static void scale_saturation(Plane *p, float factor) {
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

static inline void turn(Plane *p, float share, int thirds, int backwards) {
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
static void rotate_hue(Plane *p, float turns) {
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
static void line(Plane *p, ptrdiff_t channels, float factor, float offset) {
    for (ptrdiff_t c = 0; c < channels; c++)
        for (ptrdiff_t i = 0; i < BLOCK; i++) p[c][i] = cut(p[c][i] * factor + offset);
}

static void blend_luma(Plane *p, float factor) {
    for (ptrdiff_t i = 0; i < BLOCK; i++) {
        float offset = luma(p, i) * (1 - factor);
        for (int c = 0; c < 3; c++) p[c][i] = cut(p[c][i] * factor + offset);
    }
}

/* The parts of a program, as kernels/colour/program.py numbers them, and the steps that a jitter is made of. */
enum { WIDE_OUT = 1, CUT_BOTH = 1, GATED = 2 };
enum { TABLE, LINE, BLEND, JITTER, JIGGLE, STRETCHING };
enum { SCALE = 8, BLEND_MEAN, BLEND_LUMA, ROTATE_HUE, ADD, SCALE_SATURATION, CUT_ALL };

typedef struct {
    int kind;
    int flag;             /* whether a line cuts, before and after; whether a table is one for all channels */
    float factor, mean;   /* of a step of a jitter, and the mean that it looks for */
    const float *numbers; /* what a table or a blend takes */
    float scale[MOST_COLOURS], shift[MOST_COLOURS], unit[MOST_COLOURS]; /* a line; its shift in levels and in [0, 1] */
} Step;

typedef struct {
    Step steps[4 * MOST_PARTS + MOST_PARTS + 1];
    ptrdiff_t count;
    int wide, pointwise, looks; /* whether floats come out; of tables and lines alone; at the image before */
} Program;

static Step *add_step(Program *program, int kind) {
    Step *step = &program->steps[program->count++];
    step->kind = kind, step->flag = 0;
    return step;
}

/* Add the steps of a jitter that change anything, in the order of a row. */
static void add_jitter(Program *program, int kind, const float *numbers, ptrdiff_t count) {
    static const int steps[2][4] = {{SCALE, BLEND_MEAN, BLEND_LUMA, ROTATE_HUE},
                                    {ADD, SCALE, SCALE_SATURATION, ROTATE_HUE}};
    static const float neutral[4] = {1, 1, 1, 0};
    if (program->count) add_step(program, CUT_ALL);
    for (ptrdiff_t k = 0; k < count; k++) {
        int which = (int)numbers[4 + k] & 3;
        float factor = numbers[which];
        if (factor == neutral[which]) continue;
        add_step(program, steps[kind == JIGGLE][which])->factor = factor;
        program->looks |= kind == JITTER && which == 1;
    }
}

/* Add a line; numbers say a scale and a shift for each channel, or for all. */
static void add_line(Program *program, const float *numbers, ptrdiff_t given, ptrdiff_t channels, int cut) {
    Step *step = add_step(program, LINE);
    step->flag = cut;
    for (ptrdiff_t c = 0; c < channels; c++) {
        ptrdiff_t from = given == 1 ? 0 : c;
        step->scale[c] = numbers[from], step->unit[c] = numbers[given + from];
        step->shift[c] = (float)((double)step->unit[c] * 255);
    }
}

/* Read a program: its form, how many parts, and of each its kind, a size and a flag; ``numbers`` are those of a row. */
static void read_program(Program *program, const int32_t *parts, const float *numbers, ptrdiff_t channels) {
    program->wide = parts[0] & WIDE_OUT, program->count = 0, program->pointwise = 1, program->looks = 0;
    if (parts[0] & GATED) numbers++; /* the row is open, or it would not be here, or comes out as floats */
    for (ptrdiff_t k = 0; k < parts[1]; k++) {
        int kind = parts[2 + 3 * k], size = parts[3 + 3 * k], flag = parts[4 + 3 * k];
        int open = !(flag & GATED) || *numbers++ != 0;
        program->pointwise &= kind == TABLE || kind == LINE;
        switch (kind) {
        case TABLE: {
            Step *step = add_step(program, TABLE);
            step->numbers = numbers, step->flag = size == 1;
            numbers += 256 * size;
            break;
        }
        case LINE:
            if (open) add_line(program, numbers, size, channels, flag & CUT_BOTH);
            numbers += 2 * size;
            break;
        case BLEND:
            if (open) add_step(program, BLEND)->numbers = numbers;
            numbers += channels * (channels + 1);
            break;
        case STRETCHING:
            if (open) add_step(program, STRETCHING), program->looks = 1;
            break;
        default:
            if (open) add_jitter(program, kind, numbers, size);
            numbers += 4 + size;
        }
    }
}

static void draw_line(Plane *p, ptrdiff_t channels, const Step *step) {
    for (ptrdiff_t c = 0; c < channels; c++) {
        float factor = step->scale[c], offset = step->shift[c];
        if (step->flag)
            for (ptrdiff_t i = 0; i < BLOCK; i++) p[c][i] = cut(cut(p[c][i]) * factor + offset);
        else
            for (ptrdiff_t i = 0; i < BLOCK; i++) p[c][i] = p[c][i] * factor + offset;
    }
}

/* Blend the channels: each gets shares of all, and an addition. */
static void blend(Plane *p, ptrdiff_t channels, const float *shares) {
    Plane mixed[MOST_COLOURS];
    for (ptrdiff_t c = 0; c < channels; c++) {
        const float *share = shares + c * (channels + 1);
        float added = share[channels] * 255;
        if (c && !memcmp(share, share - channels - 1, (size_t)(channels + 1) * sizeof(float))) {
            memcpy(mixed[c], mixed[c - 1], sizeof(Plane));
            continue;
        }
        if (channels == 3)
            for (ptrdiff_t i = 0; i < BLOCK; i++)
                mixed[c][i] = p[0][i] * share[0] + p[1][i] * share[1] + p[2][i] * share[2] + added;
        else
            for (ptrdiff_t i = 0; i < BLOCK; i++) {
                float sum = p[0][i] * share[0];
                for (ptrdiff_t k = 1; k < channels; k++) sum += p[k][i] * share[k];
                mixed[c][i] = sum + added;
            }
    }
    memcpy(p, mixed, (size_t)channels * sizeof(Plane));
}

static void look_up_block(Plane *p, ptrdiff_t channels, const Step *step) {
    for (ptrdiff_t c = 0; c < channels; c++) {
        const float *table = step->numbers + (step->flag ? 0 : 256 * c);
        for (ptrdiff_t i = 0; i < BLOCK; i++) p[c][i] = table[(int)p[c][i]] * 255;
    }
}

static void apply_step(Plane *p, ptrdiff_t channels, const Step *step) {
    float factor = step->factor;
    switch (step->kind) {
    case TABLE: look_up_block(p, channels, step); break;
    case LINE: draw_line(p, channels, step); break;
    case BLEND: blend(p, channels, step->numbers); break;
    case STRETCHING: draw_line(p, channels, step); break;
    case CUT_ALL: line(p, channels, 1, 0); break;
    case SCALE: line(p, channels, factor, 0); break;
    case ADD: line(p, channels, 1, (factor - 1) * 255); break;
    case BLEND_MEAN: line(p, channels, factor, step->mean * (1 - factor)); break;
    default:
        if (channels == 1) return; /* what is grey has no colour */
        if (step->kind == BLEND_LUMA)
            blend_luma(p, factor);
        else if (step->kind == SCALE_SATURATION)
            scale_saturation(p, factor);
        else
            rotate_hue(p, factor);
    }
}

static float sum_of_luma(Plane *p, ptrdiff_t channels, ptrdiff_t n) {
    float sums[8] = {0}, total = 0; /* eight, that they are added up side by side */
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) sums[k] += channels == 3 ? luma(p, i + k) : p[0][i + k];
    for (; i < n; i++) total += channels == 3 ? luma(p, i) : p[0][i];
    for (int k = 0; k < 8; k++) total += sums[k];
    return total;
}

/* Widen a range so that it holds values: by eight at a time, side by side. */
static void widen_ends(const float *values, ptrdiff_t n, float *low, float *high) {
    float lows[8], highs[8];
    ptrdiff_t i = 0;
    for (int k = 0; k < 8; k++) lows[k] = *low, highs[k] = *high;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) lows[k] = least(values[i + k], lows[k]), highs[k] = most(values[i + k], highs[k]);
    for (; i < n; i++) lows[0] = least(values[i], lows[0]), highs[0] = most(values[i], highs[0]);
    for (int k = 0; k < 8; k++) *low = least(lows[k], *low), *high = most(highs[k], *high);
}

/* Find in the image what a step asks for, after the steps before it: the mean of the luma, or the ends of channels. */
static void look_before(const Image *image, Program *program, ptrdiff_t number) {
    Step *step = &program->steps[number];
    ptrdiff_t channels = image->channels;
    float low[MOST_COLOURS], high[MOST_COLOURS];
    double total = 0;
    _Alignas(64) Plane p[MOST_COLOURS] = {{0}};
    for (ptrdiff_t c = 0; c < channels; c++) low[c] = INFINITY, high[c] = -INFINITY;
    for (ptrdiff_t y = 0; y < image->height; y++)
        for (ptrdiff_t x = 0; x < image->width; x += BLOCK) {
            ptrdiff_t n = image->width - x < BLOCK ? image->width - x : BLOCK;
            load_block(image, y, x, n, p);
            for (ptrdiff_t k = 0; k < number; k++) apply_step(p, channels, &program->steps[k]);
            if (step->kind == BLEND_MEAN) total += sum_of_luma(p, channels, n);
            for (ptrdiff_t c = 0; step->kind == STRETCHING && c < channels; c++) widen_ends(p[c], n, low + c, high + c);
        }
    step->mean = (float)(total / (double)(image->height * image->width));
    for (ptrdiff_t c = 0; step->kind == STRETCHING && c < channels; c++) {
        int flat = !(low[c] < high[c]);
        step->scale[c] = flat ? 1 : 255 / (high[c] - low[c]);
        step->shift[c] = flat ? 0 : -low[c] * step->scale[c];
    }
}

/* Bring levels to [0, 1] at the end: the last line or blend does so by the way. */
static void end_in_unit(Program *program, ptrdiff_t channels) {
    Step *last = program->count ? &program->steps[program->count - 1] : NULL;
    if (!last || last->kind != LINE || last->flag) {
        last = add_step(program, LINE);
        for (ptrdiff_t c = 0; c < channels; c++) last->scale[c] = 1, last->unit[c] = 0;
    }
    for (ptrdiff_t c = 0; c < channels; c++)
        last->scale[c] = (float)((double)last->scale[c] / 255), last->shift[c] = last->unit[c];
}

/* Walk through an image block by block. */
static void walk(const Image *image, const Image *out, const Program *program) {
    _Alignas(64) Plane p[MOST_COLOURS] = {{0}};
    const Step *last = program->count ? &program->steps[program->count - 1] : NULL;
    ptrdiff_t channels = image->channels, grey = last && last->kind == BLEND;
    for (ptrdiff_t c = 1; grey && c < channels; c++)
        grey = !memcmp(last->numbers, last->numbers + c * (channels + 1), (size_t)(channels + 1) * sizeof(float));
    for (ptrdiff_t y = 0; y < image->height; y++)
        for (ptrdiff_t x = 0; x < image->width; x += BLOCK) {
            ptrdiff_t n = image->width - x < BLOCK ? image->width - x : BLOCK;
            load_block(image, y, x, n, p);
            for (ptrdiff_t k = 0; k < program->count; k++) apply_step(p, channels, &program->steps[k]);
            if (program->wide)
                store_floats(out, y, x, n, p);
            else
                store_block(out, y, x, n, p, grey ? 1 : channels);
        }
}

/* Write what becomes of each byte of a channel, where tables and lines do all: levels, or [0, 1] where it is wide. */
static void tabulate(const Program *program, ptrdiff_t c, float *table) {
    const Step *one = program->steps;
    if (!program->wide && program->count == 1 && one->kind == LINE) {
        int whole = one->scale[c] == 1; /* then only what is added has a fraction */
        float shift = whole ? nearbyintf(one->shift[c]) : one->shift[c];
        for (int i = 0; i < 256; i++) table[i] = (float)i * one->scale[c] + shift;
        return;
    }
    for (int i = 0; i < 256; i++) table[i] = (float)i / 255;
    for (const Step *step = one; step < one + program->count; step++)
        for (int i = 0; i < 256; i++) {
            float value = table[i];
            if (step->kind == TABLE)
                value = step->numbers[(step->flag ? 0 : 256 * c) + i];
            else if (step->flag)
                value = least(most(least(most(value, 0), 1) * step->scale[c] + step->unit[c], 0), 1);
            else
                value = value * step->scale[c] + step->unit[c];
            table[i] = value;
        }
    for (int i = 0; i < 256 && !program->wide; i++) table[i] *= 255;
}

/* A table of bytes, and what it does where it does no more: loops over bytes are several times as fast as look-ups. */
enum { ANY, SHIFTED, MASKED, INVERTED, SCALED };
typedef struct {
    byte entries[256];
    int kind, shift; /* what is added, cut to bytes */
    byte mask;       /* the bits that stay */
    float scale, add; /* what levels are multiplied by, and what is added then */
} Table;

static void know_table(Table *table) {
    int shifted = 1, masked = 1, inverted = 1;
    table->mask = table->entries[255], table->shift = table->entries[128] - 128;
    if (table->entries[128] == 255) table->shift = 255 - table->entries[0];
    if (table->entries[128] == 0) table->shift = table->entries[255] - 255;
    for (int i = 0; i < 256; i++) {
        int level = i + table->shift, entry = table->entries[i];
        shifted &= entry == (level < 0 ? 0 : level > 255 ? 255 : level);
        masked &= entry == (i & table->mask);
        inverted &= entry == 255 - i;
    }
    table->kind = shifted ? SHIFTED : masked ? MASKED : inverted ? INVERTED : ANY;
}

static void scale_line(const byte *from, byte *restrict to, ptrdiff_t n, float scale, float add) {
    ptrdiff_t i = 0;
    for (; i + 4 * NUMBERS <= n; i += 4 * NUMBERS) {
        Numbers values[4];
        for (int j = 0; j < 4; j++)
            values[j] = plus(times(numbers_of_bytes(from + i + j * NUMBERS), all_of(scale)), all_of(add));
        write_levels(to + i, values);
    }
    for (; i < n; i++) to[i] = to_byte((float)from[i] * scale + add);
}

static void map_line(const byte *from, byte *restrict to, ptrdiff_t n, const Table *table) {
    byte mask = table->mask;
    switch (table->kind) {
    case SHIFTED: shift_line(from, to, n, (float)table->shift); break;
    case MASKED:
        for (ptrdiff_t i = 0; i < n; i++) to[i] = from[i] & mask;
        break;
    case INVERTED:
        for (ptrdiff_t i = 0; i < n; i++) to[i] = (byte)~from[i];
        break;
    case SCALED: scale_line(from, to, n, table->scale, table->add); break;
    default: look_up_line(from, to, n, table->entries);
    }
}

/* Recolour lines of bytes by tables. */
static void map_levels(const Job *job, const Program *program) {
    const Image *image = &job->image, *out = &job->out;
    Table tables[MOST_COLOURS];
    byte picked[MOST_COLOURS + 1][BLOCK];
    float values[256];
    ptrdiff_t channels = image->channels, lines = job->last - job->first;
    int alike = 1;
    for (ptrdiff_t c = 0; c < channels; c++) {
        tabulate(program, c, values);
        for (int i = 0; i < 256; i++) tables[c].entries[i] = to_byte(values[i]);
        know_table(tables + c);
        if (program->count == 1 && program->steps[0].kind == LINE && tables[c].kind == ANY) {
            const Step *step = program->steps;
            tables[c].scale = step->scale[c], tables[c].add = step->shift[c];
            if (isfinite(step->scale[c] * 255) && isfinite(step->shift[c])) tables[c].kind = SCALED;
        }
        alike &= !memcmp(tables[c].entries, tables[0].entries, 256);
    }
    int planar = image->pixel == 1 && out->pixel == 1, pixels = alike && interleaved(image) && interleaved(out);
    if (planar || pixels) {
        ptrdiff_t width = pixels ? image->width * channels : image->width;
        int whole = image->line == width && out->line == width;
        for (ptrdiff_t c = 0; c < (pixels ? 1 : channels); c++)
            for (ptrdiff_t y = job->first; y < (whole ? job->first + (lines > 0) : job->last); y++)
                map_line(image->data + c * image->plane + y * image->line, out->data + c * out->plane + y * out->line,
                         whole ? lines * width : width, tables + c);
        return;
    }
    for (ptrdiff_t y = job->first; y < job->last; y++)
        for (ptrdiff_t x = 0; x < image->width; x += BLOCK) {
            Image from = *image, to = *out;
            from.data += x * image->pixel, to.data += x * out->pixel;
            from.width = to.width = image->width - x < BLOCK ? image->width - x : BLOCK;
            for (ptrdiff_t c = 0; c < channels; c++) {
                pick_line(&from, c, y, picked[MOST_COLOURS]);
                map_line(picked[MOST_COLOURS], picked[c], from.width, tables + c);
            }
            store_channels(&to, y, picked[0], BLOCK);
        }
}

/* Recolour lines of bytes by tables of floats. */
static void map_floats(const Job *job, const Program *program) {
    const Image *image = &job->image, *out = &job->out;
    float table[256];
    for (ptrdiff_t c = 0; c < image->channels; c++) {
        tabulate(program, c, table);
        for (ptrdiff_t y = job->first; y < job->last; y++) {
            const byte *from = image->data + c * image->plane + y * image->line;
            float *to = (float *)(void *)out->data + c * out->plane + y * out->line;
            if (image->pixel == 1 && out->pixel == 1)
                for (ptrdiff_t x = 0; x < image->width; x++) to[x] = table[from[x]];
            else
                for (ptrdiff_t x = 0; x < image->width; x++) to[x * out->pixel] = table[from[x * image->pixel]];
        }
    }
}

/* View lines of an image, as a single one where they lie without gaps. */
static Image lines_of(const Image *image, ptrdiff_t first, ptrdiff_t last, ptrdiff_t size, int flat) {
    Image part = *image;
    part.data += first * image->line * size, part.height = last - first;
    if (flat) part.width *= part.height, part.height = part.height > 0;
    return part;
}

/* Move whole channels, or fill them, where a blend does no more and they lie in planes of their own. */
static int move_channels(const Job *job, const Program *program) {
    const Image *image = &job->image, *out = &job->out;
    ptrdiff_t channels = image->channels, from[MOST_COLOURS];
    if (program->wide || program->count != 1 || image->pixel != 1 || out->pixel != 1) return 0;
    for (ptrdiff_t c = 0; c < channels; c++) {
        const float *share = program->steps[0].numbers + c * (channels + 1);
        ptrdiff_t ones = 0, others = 0;
        from[c] = -1;
        for (ptrdiff_t k = 0; k < channels; k++)
            if (share[k] == 1) from[c] = k, ones++;
            else others += share[k] != 0;
        if (others || ones > 1 || (ones && share[channels] != 0)) return 0;
    }
    for (ptrdiff_t c = 0; c < channels; c++)
        for (ptrdiff_t y = job->first; y < job->last; y++) {
            byte *to = out->data + c * out->plane + y * out->line;
            if (from[c] < 0)
                memset(to, to_byte(program->steps[0].numbers[c * (channels + 1) + channels] * 255), (size_t)out->width);
            else
                memcpy(to, image->data + from[c] * image->plane + y * image->line, (size_t)out->width);
        }
    return 1;
}

/* Recolour an image by a program; bytes, or floats that are not rounded, come out. */
static int recolour(const Job *job) {
    const Image *image = &job->image, *out = &job->out;
    Program program;
    ptrdiff_t first = job->first, last = job->last;
    read_program(&program, job->config, job->params, image->channels);
    if (program.pointwise) {
        if (program.wide)
            map_floats(job, &program);
        else
            map_levels(job, &program);
        return 1;
    }
    if (program.count == 1 && program.steps[0].kind == BLEND && move_channels(job, &program)) return 1;
    if (program.looks) { /* done in one piece, as the whole image is looked at */
        if (first > 0) return 1;
        last = out->height;
        if (program.count == 1 && program.steps[0].kind == STRETCHING && !program.wide) return stretch(image, out);
    }
    int flat = image->line == image->width * image->pixel && out->line == out->width * out->pixel;
    Image whole = lines_of(image, 0, image->height, 1, flat);
    for (ptrdiff_t k = 0; k < program.count; k++) {
        int kind = program.steps[k].kind;
        if (kind == BLEND_MEAN || kind == STRETCHING) look_before(&whole, &program, k);
    }
    if (program.wide) end_in_unit(&program, image->channels);
    Image from = lines_of(image, first, last, 1, flat);
    Image to = lines_of(out, first, last, program.wide ? (ptrdiff_t)sizeof(float) : 1, flat);
    walk(&from, &to, &program);
    return 1;
}
