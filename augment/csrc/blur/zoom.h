/* The mean of an image and of zooms into it about its centre. */

/* Where the places of an axis fall on it in one of the zooms: behind which pixel, and how far. */
typedef struct {
    int32_t *first;
    float *share;
} Fall;

/* Say where ``n`` places fall that come ``inverse`` times as near to the centre; the last one is repeated. */
static void fall(Fall to, ptrdiff_t n, ptrdiff_t room, double inverse) {
    double offset = (1 - inverse) * (double)(n - 1) / 2;
    for (ptrdiff_t i = 0; i < n; i++) {
        double place = inverse * (double)i + offset;
        ptrdiff_t first = place < (double)(n - 1) ? (ptrdiff_t)place : n - 2;
        to.first[i] = (int32_t)(first < 0 ? 0 : first);
        to.share[i] = (float)(place - (double)to.first[i]);
    }
    for (ptrdiff_t i = n; i < room; i++) to.first[i] = to.first[n - 1], to.share[i] = 0;
}

/* Add to sums what lies between neighbours of a line; eight places take no more than as many of its pixels. */
static void add_fallen(const float *line, Fall at, float *sums, ptrdiff_t n) {
    ptrdiff_t i = 0;
#ifdef WIDE
    for (; i < n; i += NUMBERS) {
        __m256i from = _mm256_loadu_si256((const __m256i *)(at.first + i));
        __m256i beside = _mm256_sub_epi32(from, _mm256_set1_epi32(at.first[i]));
        __m256 one = _mm256_permutevar8x32_ps(_mm256_loadu_ps(line + at.first[i]), beside);
        __m256 other = _mm256_permutevar8x32_ps(_mm256_loadu_ps(line + at.first[i] + 1), beside);
        write_numbers(sums + i, plus(read_numbers(sums + i), moved(one, other, read_numbers(at.share + i))));
    }
#endif
    for (; i < n; i++) {
        float one = line[at.first[i]], other = line[at.first[i] + 1];
        sums[i] += one + (other - one) * at.share[i];
    }
}

static void blend_both(const float *one, const float *other, float share, float *to, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i += NUMBERS)
        write_numbers(to + i, moved(read_numbers(one + i), read_numbers(other + i), all_of(share)));
}

static void share_out(const float *sums, float share, byte *to, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i += 4 * NUMBERS) {
        Numbers means[4];
        for (int j = 0; j < 4; j++) means[j] = times(read_numbers(sums + i + j * NUMBERS), all_of(share));
        write_levels(to + i, means);
    }
}

/* Write the mean of all zooms of a plane. */
static void zoom_plane(const float *plane, ptrdiff_t height, ptrdiff_t width, ptrdiff_t pitch, const Fall *down,
                       const Fall *across, ptrdiff_t zooms, float *line, byte *to) {
    float *sums = line + pitch;
    for (ptrdiff_t y = 0; y < height; y++, to += pitch) {
        memcpy(sums, plane + y * pitch, (size_t)pitch * sizeof(float));
        for (ptrdiff_t k = 0; k < zooms; k++) {
            ptrdiff_t first = down[k].first[y], last = first + 1 < height ? first + 1 : first;
            ptrdiff_t left = across[k].first[0], right = across[k].first[width - 1] + 2;
            blend_both(plane + first * pitch + left, plane + last * pitch + left, down[k].share[y], line + left,
                       right - left);
            add_fallen(line, across[k], sums, width);
        }
        share_out(sums, 1 / (float)(zooms + 1), to, width);
    }
}

/* Average an image over zooms from none to a factor, which is at least 1. */
static int zoom_blur(const Job *job) {
    const Image *image = &job->image, *out = &job->out;
    double factor = least(most(*(const float *)job->params, 1), 65536);
    ptrdiff_t height = image->height, width = image->width, zooms = *(const int32_t *)job->config - 1;
    ptrdiff_t pitch = width + ROOM, all = height * pitch;
    ptrdiff_t floats = all + 2 * pitch + 2 * zooms * (pitch + height);
    float *plane = borrow_zeros(1, (size_t)floats * sizeof(float) + (size_t)(image->channels * all + pitch));
    Fall *falls = borrow((size_t)(2 * zooms + 1) * sizeof(Fall));
    int done = plane && falls;
    if (done) {
        float *line = plane + all, *free_room = line + 2 * pitch;
        byte *found = (byte *)(plane + floats), *bytes = found + image->channels * all;
        for (ptrdiff_t k = 0; k < 2 * zooms; k++) {
            ptrdiff_t n = k < zooms ? height : width, room = k < zooms ? height : pitch;
            falls[k] = (Fall){(int32_t *)free_room, free_room + room};
            fall(falls[k], n, room, 1 / (1 + (factor - 1) * (double)(k % zooms + 1) / (double)zooms));
            free_room += 2 * room;
        }
        for (ptrdiff_t c = 0; c < image->channels; c++) {
            for (ptrdiff_t y = 0; y < height; y++) {
                pick_line(image, c, y, bytes);
                for (ptrdiff_t x = 0; x < width; x++) plane[y * pitch + x] = bytes[x];
            }
            zoom_plane(plane, height, width, pitch, falls, falls + zooms, zooms, line, found + c * all);
        }
        for (ptrdiff_t y = 0; y < height; y++) store_channels(out, y, found + y * pitch, all);
    }
    give_back(falls);
    give_back(plane);
    return done;
}
