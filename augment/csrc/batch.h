/* A batch: what is done to its rows, by as many threads as it is worth. */
#ifndef AUGMENT_BATCH_H
#define AUGMENT_BATCH_H

#include "image.h"

/* A part of the work: lines of the output of one row, from ``first`` to before ``last``. */
typedef struct {
    Image image, out;
    const void *params, *config; /* of this row, and of all rows */
    ptrdiff_t first, last;
} Job;

/* Memory for a part, which a thread keeps for its next parts: the system's takes its time where threads ask at once. */
void *borrow(size_t size);
void *borrow_zeros(size_t count, size_t size);
void give_back(void *memory);

/* Does a part; 0 where there is no memory. */
typedef int (*Kernel)(const Job *job);

typedef struct {
    Image image, out; /* of the first row */
    ptrdiff_t rows, image_step, out_step, params_step; /* bytes from one row to the next */
    ptrdiff_t size;   /* bytes of an element, where rows that stay are copied */
    const byte *open; /* for each row whether it changes; NULL where all do */
    const void *params, *config;
    Kernel kernel;
    double cost; /* nanoseconds for a byte of the output */
    int bands;   /* whether a row may be done in parts */
    int threads; /* at most */
} Batch;

/* The kernels in their order, once for every instruction set. */
extern const Kernel compiled_base[];
#if defined(__x86_64__) && defined(__GNUC__)
#define AUGMENT_AVX2
extern const Kernel compiled_avx2[];
#endif

/* Do a batch; 0 where there was no memory. */
int run_batch(const Batch *batch);

#endif
