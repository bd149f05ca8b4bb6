/* Networks of comparisons over lines of bytes. */

#define FLAT 512    /* bytes that are compared at a time */
#define STRIP 16384 /* bytes of padded lines at a time */

enum { LESSER, GREATER, CUT };

/* A comparison: images that it reads, from some column on, and the one it gives. */
typedef struct {
    int32_t kind, target, ahead; /* how many columns more are needed of what it gives than of the last one */
    int32_t images[3], columns[3];
} Comparison;

typedef struct {
    int32_t inputs, slots, width, count; /* lines it starts from, results it keeps at a time, columns of the window */
    Comparison comparisons[];
} Network;

static inline Bytes cut_bytes(Bytes value, Bytes low, Bytes high) { return lesser(greater(value, low), high); }

static inline void sort_two(Bytes *a, Bytes *b) {
    Bytes first = lesser(*a, *b);
    *b = greater(*a, *b);
    *a = first;
}

/* Compare lines of ``n`` bytes; lines have room for all of the last bytes that are read or written at once. */
static void compare(int kind, const byte *a, const byte *b, const byte *c, byte *to, ptrdiff_t n) {
    if (kind == LESSER)
        for (ptrdiff_t i = 0; i < n; i += LANES) write_bytes(to + i, lesser(read_bytes(a + i), read_bytes(b + i)));
    else if (kind == GREATER)
        for (ptrdiff_t i = 0; i < n; i += LANES) write_bytes(to + i, greater(read_bytes(a + i), read_bytes(b + i)));
    else
        for (ptrdiff_t i = 0; i < n; i += LANES)
            write_bytes(to + i, cut_bytes(read_bytes(a + i), read_bytes(b + i), read_bytes(c + i)));
}

/* Make all comparisons for ``n`` places, the last of them into ``out``; results of others lie in slots. */
static void compare_all(const Network *network, const byte *lines, ptrdiff_t line, ptrdiff_t step, byte *slots,
                        ptrdiff_t slot, byte *out, ptrdiff_t n) {
    for (ptrdiff_t k = 0; k < network->count; k++) {
        const Comparison *now = network->comparisons + k;
        const byte *parts[3];
        for (int i = 0; i < 3; i++) {
            ptrdiff_t image = now->images[i];
            ptrdiff_t result = image - network->inputs;
            const byte *from = result < 0 ? lines + image * line : slots + result * slot;
            parts[i] = from + now->columns[i] * step;
        }
        int last = k == network->count - 1;
        byte *to = last ? out : slots + (now->target - network->inputs) * slot;
        compare(now->kind, parts[0], parts[1], parts[2], to, last ? n : n + now->ahead * step);
    }
}

/* Give the median of windows of 3 by 3: that of the greatest least, the middle and the least greatest of columns. */
static void median_of_9(const byte *lines, ptrdiff_t line, ptrdiff_t step, byte *slots, ptrdiff_t slot, byte *out,
                        ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n + 2 * step; i += LANES) {
        Bytes v[3];
        for (int k = 0; k < 3; k++) v[k] = read_bytes(lines + k * line + i);
        sort_two(v, v + 1), sort_two(v + 1, v + 2), sort_two(v, v + 1);
        for (int k = 0; k < 3; k++) write_bytes(slots + k * slot + i, v[k]);
    }
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        Bytes v[3][3];
        for (int k = 0; k < 9; k++) v[k / 3][k % 3] = read_bytes(slots + k / 3 * slot + k % 3 * step + i);
        Bytes low = greater(greater(v[0][0], v[0][1]), v[0][2]), high = lesser(lesser(v[2][0], v[2][1]), v[2][2]);
        sort_two(v[1], v[1] + 1);
        Bytes middle = cut_bytes(v[1][2], v[1][0], v[1][1]);
        sort_two(&low, &high);
        write_bytes(out + i, cut_bytes(middle, low, high));
    }
}

static inline void merge_1(const Bytes *a, const Bytes *b, Bytes *out) {
    out[0] = lesser(a[0], b[0]);
    out[1] = greater(a[0], b[0]);
}

/* Merge two sorted sequences of N by merging those of even and of odd places (K. E. Batcher, AFIPS 1968). */
#define MERGE(N, EVENS, ODDS)                                                                    \
    static inline void merge_##N(const Bytes *a, const Bytes *b, Bytes *out) {                   \
        Bytes parts[2][N], even[N + 1], odd[N + 1];                                              \
        for (int i = 0; i < EVENS; i++) parts[0][i] = a[2 * i], parts[1][i] = b[2 * i];          \
        merge_##EVENS(parts[0], parts[1], even);                                                 \
        for (int i = 0; i < ODDS; i++) parts[0][i] = a[2 * i + 1], parts[1][i] = b[2 * i + 1];   \
        merge_##ODDS(parts[0], parts[1], odd);                                                   \
        out[0] = even[0], out[2 * N - 1] = N % 2 ? even[N] : odd[N - 1];                         \
        for (int i = 0; i < N - 1; i++) {                                                        \
            out[2 * i + 1] = lesser(odd[i], even[i + 1]);                                        \
            out[2 * i + 2] = greater(odd[i], even[i + 1]);                                       \
        }                                                                                        \
    }
MERGE(2, 1, 1)
MERGE(3, 2, 1)
MERGE(5, 3, 2)
MERGE(10, 5, 5)

/* Give the median of windows of 5 by 5: of four columns that are sorted, merged and merged again, and a fifth. */
static void median_of_25(const byte *lines, ptrdiff_t line, ptrdiff_t step, byte *slots, ptrdiff_t slot, byte *out,
                         ptrdiff_t n) {
    static const byte order[9][2] = {{0, 1}, {3, 4}, {2, 4}, {2, 3}, {1, 4}, {0, 3}, {0, 2}, {1, 3}, {1, 2}};
    byte *pairs = slots + 5 * slot;
    for (ptrdiff_t i = 0; i < n + 4 * step; i += LANES) {
        Bytes v[5];
        for (int k = 0; k < 5; k++) v[k] = read_bytes(lines + k * line + i);
        for (int k = 0; k < 9; k++) sort_two(v + order[k][0], v + order[k][1]);
        for (int k = 0; k < 5; k++) write_bytes(slots + k * slot + i, v[k]);
    }
    for (ptrdiff_t i = 0; i < n + 2 * step; i += LANES) {
        Bytes a[5], b[5], v[10];
        for (int k = 0; k < 5; k++) a[k] = read_bytes(slots + k * slot + i);
        for (int k = 0; k < 5; k++) b[k] = read_bytes(slots + k * slot + step + i);
        merge_5(a, b, v);
        for (int k = 0; k < 10; k++) write_bytes(pairs + k * slot + i, v[k]);
    }
    for (ptrdiff_t i = 0; i < n; i += LANES) {
        Bytes a[10], b[10], v[20];
        for (int k = 0; k < 10; k++) a[k] = read_bytes(pairs + k * slot + i);
        for (int k = 0; k < 10; k++) b[k] = read_bytes(pairs + k * slot + 2 * step + i);
        merge_10(a, b, v);
        Bytes found = v[12]; /* of 13 values that are the smallest some are in the fifth column */
        for (int k = 0; k < 5; k++)
            found = lesser(found, greater(v[11 - k], read_bytes(slots + k * slot + 4 * step + i)));
        write_bytes(out + i, found);
    }
}

/* Run a network on the lines of windows, mirrored about the centres of edge pixels. */
static int median_blur(const Job *job) {
    const Image *image = &job->image, *out = &job->out;
    const Network *network = job->config;
    Layout layout = layout_of(image, out);
    ptrdiff_t lost = network->width - 1, above = network->inputs - 1, step = layout.step;
    ptrdiff_t line = layout.width + lost * step, slot = FLAT + lost * step + 64;
    ptrdiff_t strip = STRIP / line < 8 ? 8 : STRIP / line; /* the lines above and below are read twice */
    if (strip > job->last - job->first) strip = job->last - job->first;
    byte *lines = borrow((size_t)((strip + above) * line + slot + network->slots * slot + strip * line + 64));
    if (!lines) return 0;
    byte *slots = lines + (strip + above) * line + slot, *found = slots + network->slots * slot;
    memset(lines + (strip + above) * line, 0, (size_t)slot); /* read, and never seen */
    for (ptrdiff_t plane = 0; plane < layout.planes; plane++)
        for (ptrdiff_t top = job->first; top < job->last; top += strip) {
            ptrdiff_t count = job->last - top < strip ? job->last - top : strip, all = count * line;
            for (ptrdiff_t y = 0; y < count + above; y++)
                load_line(image, layout, plane, top + y - above / 2, lost / 2, lost / 2, REFLECT, lines + y * line);
            for (ptrdiff_t at = 0; at < all; at += FLAT) {
                ptrdiff_t n = all - at < FLAT ? all - at : FLAT;
                if (network->inputs == 3 && network->width == 3)
                    median_of_9(lines + at, line, step, slots, slot, found + at, n);
                else if (network->inputs == 5 && network->width == 5)
                    median_of_25(lines + at, line, step, slots, slot, found + at, n);
                else
                    compare_all(network, lines + at, line, step, slots, slot, found + at, n);
            }
            for (ptrdiff_t y = 0; y < count; y++) store_line(out, layout, plane, top + y, found + y * line);
        }
    give_back(lines);
    return 1;
}
