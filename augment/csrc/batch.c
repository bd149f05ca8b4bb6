/* Rows of a batch shared out over threads, which live as long as the call: they survive a fork. */
#include "batch.h"

#ifndef _WIN32
#define THREADS
#include <pthread.h>
#include <stdatomic.h>
#else
#define atomic_int int
#define atomic_fetch_add(place, n) ((*(place) += (n)) - (n))
#define atomic_store(place, n) (*(place) = (n))
#define atomic_load(place) (*(place))
#endif

#define MOST_THREADS 64
#ifndef WORTH_A_THREAD     /* a test shares out whatever there is */
#define WORTH_A_THREAD 4e5 /* nanoseconds; to start and end one takes some 15000 */
#define LEAST_LINES 32     /* of a band */
#endif

#define MOST_BLOCKS 4

/* Blocks of memory that a thread has for its parts. */
static _Thread_local struct {
    void *memory;
    size_t size;
    int lent;
} blocks[MOST_BLOCKS];

void *borrow(size_t size) {
#ifndef SANITIZED
    for (int i = 0; i < MOST_BLOCKS; i++) {
        if (blocks[i].lent || (blocks[i].memory && blocks[i].size < size)) continue;
        if (!blocks[i].memory) blocks[i].memory = malloc(size), blocks[i].size = size;
        blocks[i].lent = blocks[i].memory != NULL;
        return blocks[i].memory;
    }
#endif
    return malloc(size);
}

void *borrow_zeros(size_t count, size_t size) {
    void *memory = borrow(count * size);
    return memory ? memset(memory, 0, count * size) : NULL;
}

void give_back(void *memory) {
    for (int i = 0; memory && i < MOST_BLOCKS; i++)
        if (blocks[i].memory == memory) {
            blocks[i].lent = 0;
            return;
        }
    free(memory);
}

static void free_blocks(void) {
    for (int i = 0; i < MOST_BLOCKS; i++) {
        free(blocks[i].memory);
        blocks[i].memory = NULL;
    }
}

typedef struct {
    const Batch *batch;
    ptrdiff_t bands; /* parts of each row */
    atomic_int next, failed;
} Work;

static void copy_elements(const Image *image, const Image *out, ptrdiff_t size) {
    ptrdiff_t line = image->width * size;
    for (ptrdiff_t c = 0; c < image->channels; c++)
        for (ptrdiff_t y = 0; y < image->height; y++) {
            const byte *from = image->data + (c * image->plane + y * image->line) * size;
            byte *to = out->data + (c * out->plane + y * out->line) * size;
            if (image->pixel == 1 && out->pixel == 1)
                memcpy(to, from, (size_t)line);
            else
                for (ptrdiff_t x = 0; x < image->width; x++)
                    memcpy(to + x * out->pixel * size, from + x * image->pixel * size, (size_t)size);
        }
}

/* Whether the elements of an image lie without gaps. */
static int dense(const Image *image) {
    ptrdiff_t area = image->height * image->width, pixels = image->channels;
    int planar = image->pixel == 1 && image->line == image->width && (pixels == 1 || image->plane == area);
    return planar || (image->plane == 1 && image->pixel == pixels && image->line == image->width * pixels);
}

/* Copy a row that stays as it is. */
static void copy_row(const Image *image, const Image *out, ptrdiff_t size) {
    int alike = image->plane == out->plane && image->line == out->line && image->pixel == out->pixel;
    if (alike && dense(image))
        memcpy(out->data, image->data, (size_t)(image->channels * image->height * image->width * size));
    else
        copy_elements(image, out, size);
}

static int do_part(const Batch *batch, ptrdiff_t row, ptrdiff_t band, ptrdiff_t bands) {
    ptrdiff_t height = batch->out.height;
    Job job = {batch->image, batch->out, NULL, batch->config, height * band / bands, height * (band + 1) / bands};
    job.image.data += row * batch->image_step, job.out.data += row * batch->out_step;
    if (batch->params) job.params = (const char *)batch->params + row * batch->params_step;
    if (!batch->open || batch->open[row]) return batch->kernel(&job);
    if (band == 0) copy_row(&job.image, &job.out, batch->size);
    return 1;
}

static void *work_on(void *argument) {
    Work *work = argument;
    const Batch *batch = work->batch;
    for (int part; (part = atomic_fetch_add(&work->next, 1)) < batch->rows * work->bands;)
        if (!do_part(batch, part / work->bands, part % work->bands, work->bands)) atomic_store(&work->failed, 1);
    free_blocks();
    return NULL;
}

/* Say how many threads the work is worth. */
static int threads_for(const Batch *batch) {
    ptrdiff_t open = batch->rows;
    if (batch->open)
        for (ptrdiff_t i = open = 0; i < batch->rows; i++) open += batch->open[i] != 0;
    double bytes = (double)(batch->out.channels * batch->out.height * batch->out.width);
    double worth = (double)open * bytes * batch->cost / WORTH_A_THREAD;
    int most = batch->threads < MOST_THREADS ? batch->threads : MOST_THREADS;
    return worth < 2 ? 1 : worth < most ? (int)worth : most;
}

int run_batch(const Batch *batch) {
    Work work = {.batch = batch, .bands = 1};
    int threads = threads_for(batch);
    if (threads > 1 && batch->bands && batch->rows < 4 * threads) {
        ptrdiff_t wanted = (4 * threads + batch->rows - 1) / batch->rows, most = batch->out.height / LEAST_LINES;
        work.bands = wanted < most ? wanted : most > 1 ? most : 1;
    }
    if (threads > batch->rows * work.bands) threads = (int)(batch->rows * work.bands);
#ifdef THREADS
    pthread_t started[MOST_THREADS];
    int count = 0;
    while (count < threads - 1 && !pthread_create(&started[count], NULL, work_on, &work)) count++;
    work_on(&work);
    while (count > 0) pthread_join(started[--count], NULL);
#else
    work_on(&work);
#endif
    return !atomic_load(&work.failed);
}
