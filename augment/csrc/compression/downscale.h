/* Shrinking a plane of bytes and enlarging it again, axis by axis, with one rounding at the end. */

enum { NEAREST, BILINEAR, AREA };

/* The pixels of ``from`` that each of ``to`` pixels sees: ``count`` from ``first`` on, with weights that add up to 1. */
typedef struct {
    ptrdiff_t first, count;
    float *weights;
} Seen;

/* How many weights a pixel has at most. */
static ptrdiff_t most_seen(ptrdiff_t from, ptrdiff_t to, int mode) {
    return mode == NEAREST ? 1 : mode == BILINEAR ? 2 : (from + to - 1) / to + 1;
}

static void look_through(Seen *seen, float *weights, ptrdiff_t from, ptrdiff_t to, int mode) {
    for (ptrdiff_t i = 0; i < to; i++, weights += most_seen(from, to, mode)) {
        Seen *s = seen + i;
        s->weights = weights;
        if (mode == NEAREST) {
            *s = (Seen){(2 * i + 1) * from / (2 * to), 1, weights};
            weights[0] = 1;
        } else if (mode == BILINEAR) {
            float place = (float)((2 * i + 1) * from - to) / (float)(2 * to);
            place = least(most(place, 0), (float)(from - 1));
            s->first = (ptrdiff_t)place;
            s->count = s->first + 1 < from ? 2 : 1;
            weights[1] = place - (float)s->first;
            weights[0] = 1 - weights[1];
        } else { /* the overlap of pixel k, of length ``to``, with what pixel i covers, of length ``from`` */
            s->first = i * from / to;
            s->count = ((i + 1) * from + to - 1) / to - s->first;
            for (ptrdiff_t k = s->first; k < s->first + s->count; k++) {
                ptrdiff_t start = k * to > i * from ? k * to : i * from;
                ptrdiff_t end = (k + 1) * to < (i + 1) * from ? (k + 1) * to : (i + 1) * from;
                weights[k - s->first] = (float)(end - start) / (float)from;
            }
        }
    }
}

/* Add up lines as a pixel of the other axis sees them. */
static void sum_bytes(const byte *lines, ptrdiff_t step, const Seen *seen, float *to, ptrdiff_t n) {
    const byte *line = lines + seen->first * step;
    for (ptrdiff_t x = 0; x < n; x++) to[x] = (float)line[x] * seen->weights[0];
    for (ptrdiff_t k = 1; k < seen->count; k++) {
        line += step;
        for (ptrdiff_t x = 0; x < n; x++) to[x] += (float)line[x] * seen->weights[k];
    }
}

static void sum_along(const float *line, const Seen *seen, float *to, ptrdiff_t n) {
    for (ptrdiff_t x = 0; x < n; x++) {
        const float *part = line + seen[x].first;
        float total = part[0] * seen[x].weights[0];
        for (ptrdiff_t k = 1; k < seen[x].count; k++) total += part[k] * seen[x].weights[k];
        to[x] = total;
    }
}

/* Shrink a plane to lines of the output's width, then write the output's lines. */
static void downscale_plane(const byte *from, ptrdiff_t step, byte *to, ptrdiff_t height, ptrdiff_t width, ptrdiff_t h,
                            ptrdiff_t w, Seen *const *seen, float *room) {
    float *lines = room, *line = room + h * width, *small = line + width;
    for (ptrdiff_t y = 0; y < h; y++) {
        sum_bytes(from, step, seen[0] + y, line, width);
        sum_along(line, seen[1], small, w);
        sum_along(small, seen[3], lines + y * width, width);
    }
    for (ptrdiff_t y = 0; y < height; y++, to += width) {
        const Seen *s = seen[2] + y;
        const float *one = lines + s->first * width;
        if (s->count == 1 && y && s[-1].count == 1 && s[-1].first == s->first)
            memcpy(to, to - width, (size_t)width);
        else if (s->count == 1)
            for (ptrdiff_t x = 0; x < width; x++) to[x] = to_byte(one[x]);
        else
            for (ptrdiff_t x = 0; x < width; x++)
                to[x] = to_byte(one[x] * s->weights[0] + one[x + width] * s->weights[1]);
    }
}

/* Take the nearest pixels there and back, for columns at once: a line that is left once, and then whole lines. */
static void thin_plane(const byte *from, ptrdiff_t step, byte *to, ptrdiff_t height, ptrdiff_t width, Seen *const *seen,
                       const int32_t *columns) {
    for (ptrdiff_t y = 0; y < height; y++, to += width) {
        ptrdiff_t small = seen[2][y].first;
        const byte *line = from + seen[0][small].first * step;
        if (y && small == seen[2][y - 1].first)
            memcpy(to, to - width, (size_t)width);
        else
            for (ptrdiff_t x = 0; x < width; x++) to[x] = line[columns[x]];
    }
}

/* Say how many of n pixels are left. */
static ptrdiff_t small_size(double scale, ptrdiff_t n) {
    double size = rint(scale * (double)n);
    return size > 1 ? size < (double)n ? (ptrdiff_t)size : n : 1;
}

/* Give the first byte of a plane whose lines are dense, in ``room`` where its pixels lie apart. */
static const byte *dense_plane(const Image *image, ptrdiff_t c, byte *room, ptrdiff_t *step) {
    *step = image->pixel == 1 ? image->line : image->width;
    if (image->pixel == 1) return image->data + c * image->plane;
    for (ptrdiff_t y = 0; y < image->height; y++) pick_line(image, c, y, room + y * image->width);
    return room;
}

/* Shrink an image to a scale of its size, and enlarge it again; 0 where there is no memory for it. */
static int downscale(const Job *job) {
    const Image *image = &job->image, *out = &job->out;
    int down = ((const int32_t *)job->config)[0], up = ((const int32_t *)job->config)[1];
    int dense = out->pixel == 1 && out->line == out->width, thin = down == NEAREST && up == NEAREST;
    ptrdiff_t height = image->height, width = image->width, area = height * width, entries = 0, weights = 0;
    double scale = *(const double *)job->params;
    ptrdiff_t h = small_size(scale, height), w = small_size(scale, width);
    ptrdiff_t from[4] = {height, width, h, w}, to[4] = {h, w, height, width};
    for (int k = 0; k < 4; k++) {
        entries += to[k];
        weights += to[k] * most_seen(from[k], to[k], k < 2 ? down : up) + 1;
    }
    ptrdiff_t floats = weights + h * width + width + w;
    Seen *seen[4], *all = borrow((size_t)entries * sizeof(Seen));
    float *room = borrow((size_t)floats * sizeof(float) + (size_t)(area + image->channels * area)), *next = room;
    int done = all && room;
    if (done) {
        seen[0] = all;
        for (int k = 0; k < 4; k++) {
            int mode = k < 2 ? down : up;
            if (k) seen[k] = seen[k - 1] + to[k - 1];
            look_through(seen[k], next, from[k], to[k], mode);
            next += to[k] * most_seen(from[k], to[k], mode) + 1;
        }
        int32_t *columns = (int32_t *)next;
        byte *bytes = (byte *)(room + floats), *found = bytes + area;
        for (ptrdiff_t x = 0; thin && x < width; x++) columns[x] = (int32_t)seen[1][seen[3][x].first].first;
        for (ptrdiff_t c = 0; c < image->channels; c++) {
            ptrdiff_t step;
            const byte *plane = dense_plane(image, c, bytes, &step);
            byte *target = dense ? out->data + c * out->plane : found + c * area;
            if (thin)
                thin_plane(plane, step, target, height, width, seen, columns);
            else
                downscale_plane(plane, step, target, height, width, h, w, seen, next);
        }
        for (ptrdiff_t y = 0; !dense && y < height; y++) store_channels(out, y, found + y * width, area);
    }
    give_back(all);
    give_back(room);
    return done;
}
