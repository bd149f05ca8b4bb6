/* The mean of a disk of pixels. */

#define MOST_SOFT 8 /* taps that soften a disk */

/* Give the largest whole number whose square is at most n. */
static ptrdiff_t root_of(ptrdiff_t n) {
    ptrdiff_t root = 0;
    while ((root + 1) * (root + 1) <= n) root++;
    return root;
}

/* Blur a line by the lines around it with a few taps along y, then along x. */
static float *soften_line(const Ring *ring, ptrdiff_t y, const float *taps, ptrdiff_t count, float *sums, float *soft) {
    const float *lines[MOST_SOFT] = {NULL};
    ptrdiff_t step = ring->layout.step, n = ring->layout.width + 2 * ring->reach_x * step;
    for (ptrdiff_t k = 0; k < count; k++) lines[k] = ring_line(ring, y - count / 2 + k);
    blend_taps(lines, taps, count, sums, NULL, n);
    for (ptrdiff_t k = 0; k < count; k++) lines[k] = sums + k * step;
    blend_taps(lines, taps, count, soft, NULL, n - (count - 1) * step);
    return soft;
}

static void add_to_two(float *restrict one, float *restrict other, const float *line, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i += NUMBERS) {
        Numbers more = read_numbers(line + i);
        write_numbers(one + i, plus(read_numbers(one + i), more));
        write_numbers(other + i, plus(read_numbers(other + i), more));
    }
}

/* Add what a line means to the disks about the lines up to ``radius`` above and below: rows that grow at both ends. */
static void add_rows(const Ring *ring, const float *soft, ptrdiff_t y, ptrdiff_t radius, float *run, float *disks) {
    ptrdiff_t step = ring->layout.step, n = ring->layout.width, places = 2 * radius + 1, half = 0;
    memcpy(run, soft + radius * step, (size_t)n * sizeof(float));
    for (ptrdiff_t d = radius; d >= 0; d--) {
        while (half < root_of(radius * radius - d * d)) {
            half++;
            add_two_long(run, soft + (radius - half) * step, soft + (radius + half) * step, n);
        }
        float *below = disks + (y + d + places) % places * ring->pitch;
        if (d)
            add_to_two(below, disks + (y - d + places) % places * ring->pitch, run, n);
        else
            for (ptrdiff_t i = 0; i < n; i++) below[i] += run[i];
    }
}

/* Average an image over disks with soft edges, of a radius and 3 or 5 taps of which wider ones take the latter. */
static int disk_blur(const Job *job) {
    const Image *image = &job->image, *out = &job->out;
    const float *params = job->params;
    ptrdiff_t radius = (ptrdiff_t)params[0], count = radius <= 8 ? 3 : 5;
    const float *taps = params + (radius <= 8 ? 1 : 4);
    int border = *(const int32_t *)job->config;
    ptrdiff_t soft = count / 2, places = 2 * radius + 1, area = 0;
    for (ptrdiff_t d = -radius; d <= radius; d++) area += 2 * root_of(radius * radius - d * d) + 1;
    Ring ring = {.image = image, .layout = layout_of(image, out), .border = border};
    ring.reach_y = ring.reach_x = radius + soft, ring.count = count;
    ring.pitch = ring.layout.width + 2 * ring.reach_x * ring.layout.step + ROOM;
    ring.numbers = borrow_zeros((size_t)((count + places + 4) * ring.pitch), sizeof(float));
    if (!ring.numbers) return 0;
    float *disks = ring.numbers + count * ring.pitch, *sums = disks + places * ring.pitch, *line = sums + ring.pitch;
    float *run = line + ring.pitch;
    ring.bytes = (byte *)(run + ring.pitch);
    for (ring.plane = 0; ring.plane < ring.layout.planes; ring.plane++) {
        for (ptrdiff_t y = -radius - soft; y < soft - radius; y++) ring_read(&ring, y);
        for (ptrdiff_t y = -radius; y < image->height + radius; y++) {
            ring_read(&ring, y + soft);
            memset(disks + (y + radius) % places * ring.pitch, 0, (size_t)ring.pitch * sizeof(float));
            add_rows(&ring, soften_line(&ring, y, taps, count, sums, line), y, radius, run, disks);
            if (y < radius) continue;
            share_out(disks + (y - radius) % places * ring.pitch, 1 / (float)area, ring.bytes, ring.layout.width);
            store_line(out, ring.layout, ring.plane, y - radius, ring.bytes);
        }
    }
    give_back(ring.numbers);
    return 1;
}
