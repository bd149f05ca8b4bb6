/* Rectangles and grids that are filled. */

/* Copy the lines of a job; 0 where there is no memory. */
static int copy_part(const Job *job) {
    const Image *image = &job->image, *out = &job->out;
    Layout layout = layout_of(image, out);
    int dense = layout.step > 1 || (image->pixel == 1 && out->pixel == 1);
    ptrdiff_t lines = job->last - job->first;
    byte *room = dense ? NULL : borrow((size_t)image->width);
    if (!dense && !room) return 0;
    if (dense && image->line == layout.width && out->line == layout.width) layout.width *= lines, lines = 1;
    for (ptrdiff_t plane = 0; plane < layout.planes; plane++)
        for (ptrdiff_t y = job->first; y < job->first + lines; y++)
            store_line(out, layout, plane, y, line_of(image, layout, plane, y, room));
    give_back(room);
    return 1;
}

/* Write a level where columns are marked. */
static void fill_line(byte *restrict to, ptrdiff_t pixel, const byte *restrict columns, ptrdiff_t n, byte level) {
    if (pixel == 1)
        for (ptrdiff_t x = 0; x < n; x++) to[x] = columns[x] ? level : to[x];
    else
        for (ptrdiff_t x = 0; x < n; x++)
            if (columns[x]) to[x * pixel] = level;
}

/* Fill where a marked line and a marked column meet. The config is how many sets of them there are; the params have a
 * level for each channel, and for each set whether every column and every line is marked. */
static int fill_meetings(const Job *job) {
    const Image *out = &job->out;
    const byte *levels = job->params, *columns = levels + out->channels;
    ptrdiff_t count = *(const int32_t *)job->config, size = out->width + out->height;
    if (!copy_part(job)) return 0;
    for (ptrdiff_t k = 0; k < count; k++, columns += size)
        for (ptrdiff_t c = 0; c < out->channels; c++)
            for (ptrdiff_t y = job->first; y < job->last; y++)
                if (columns[out->width + y])
                    fill_line(out->data + c * out->plane + y * out->line, out->pixel, columns, out->width, levels[c]);
    return 1;
}
