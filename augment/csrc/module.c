/* The module ``augment._kernels``: hands memory that Python names to the kernels for this processor. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "kernels.h"

#define VERSION 2 /* of what Python calls; it is that of kernels/built.py */

static const Kernel *compiled = compiled_base;

/* What is known of a kernel. */
static const struct {
    const char *name;
    double cost;
    int bands;
} known[] = {
#define KERNEL(name, cost, bands) {#name, cost, bands},
    KERNELS
};
#define COUNT ((int)(sizeof known / sizeof *known))

static const Kernels *kernels = &kernels_base;

/* An image comes as (address, shape, strides). */
#define PLACE "(K(nnn)(nnn))"
#define PARTS(i) &(i).data, &(i).channels, &(i).height, &(i).width, &(i).plane, &(i).line, &(i).pixel

/* A batch of images comes as (address, shape, strides, bytes of an element). */
#define PLACES "(K(nnnn)(nnnn)n)"

typedef struct {
    Image image;
    Py_ssize_t rows, step, size;
} Images;
#define PARTS_OF(i)                                                                                             \
    &(i).image.data, &(i).rows, &(i).image.channels, &(i).image.height, &(i).image.width, &(i).step,            \
        &(i).image.plane, &(i).image.line, &(i).image.pixel, &(i).size

/* Run the kernel of a number on the rows of a batch that are open. */
static PyObject *run(PyObject *self, PyObject *args) {
    Images images, outs;
    unsigned long long open, params;
    Py_ssize_t params_step;
    Py_buffer config;
    int number, threads, done;
    if (!PyArg_ParseTuple(args, "i" PLACES PLACES "KKny*i", &number, PARTS_OF(images), PARTS_OF(outs), &open, &params,
                          &params_step, &config, &threads))
        return NULL;
    if (number < 0 || number >= COUNT) {
        PyBuffer_Release(&config);
        return PyErr_Format(PyExc_ValueError, "number: expected one of %d kernels, got %d", COUNT, number);
    }
    Batch batch = {
        .image = images.image, .out = outs.image, .rows = outs.rows,
        .image_step = images.step * images.size, .out_step = outs.step * outs.size, .params_step = params_step,
        .size = images.size, .open = (const byte *)(uintptr_t)open, .params = (const void *)(uintptr_t)params,
        .config = config.buf, .kernel = compiled[number], .cost = known[number].cost, .bands = known[number].bands,
        .threads = threads,
    };
    Py_BEGIN_ALLOW_THREADS;
    done = run_batch(&batch);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&config);
    if (!done) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* Name the kernels in the order of their numbers. */
static PyObject *names(PyObject *self, PyObject *args) {
    PyObject *list = PyList_New(COUNT);
    for (int i = 0; list && i < COUNT; i++) {
        PyObject *name = PyUnicode_FromString(known[i].name);
        if (!name) Py_CLEAR(list);
        else PyList_SET_ITEM(list, i, name);
    }
    return list;
}

static PyObject *look_up(PyObject *self, PyObject *args) {
    Image image, out;
    const char *tables;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, PLACE PLACE "y#", PARTS(image), PARTS(out), &tables, &size)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    kernels->look_up(&image, &out, (const byte *)tables, size / 256);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *linear_levels(PyObject *self, PyObject *args) {
    Image image, out;
    const char *lines;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, PLACE PLACE "y#", PARTS(image), PARTS(out), &lines, &size)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    kernels->linear_levels(&image, &out, (const float *)lines, size / (Py_ssize_t)(2 * sizeof(float)));
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *look_up_floats(PyObject *self, PyObject *args) {
    Image image;
    Floats out;
    unsigned long long tables;
    if (!PyArg_ParseTuple(args, PLACE PLACE "K", PARTS(image), PARTS(out), &tables)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    kernels->look_up_floats(&image, &out, (const float *)(uintptr_t)tables);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *adjust_colour(PyObject *self, PyObject *args) {
    Image image, out;
    Floats wide;
    const char *steps, *shares;
    Py_ssize_t steps_size, shares_size, share_width;
    int is_wide;
    if (!PyArg_ParseTuple(args, PLACE PLACE "py#y#n", PARTS(image), PARTS(out), &is_wide, &steps, &steps_size, &shares,
                          &shares_size, &share_width))
        return NULL;
    memcpy(&wide, &out, sizeof wide);
    Py_BEGIN_ALLOW_THREADS;
    kernels->adjust_colour(&image, &out, is_wide ? &wide : NULL, (const Step *)steps,
                           steps_size / (Py_ssize_t)sizeof(Step), (const float *)shares, share_width);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *remap(PyObject *args, int (*kernel)(const Image *image, const Image *out)) {
    Image image, out;
    int done;
    if (!PyArg_ParseTuple(args, PLACE PLACE, PARTS(image), PARTS(out))) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernel(&image, &out);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *equalize(PyObject *self, PyObject *args) { return remap(args, kernels->equalize); }
static PyObject *stretch(PyObject *self, PyObject *args) { return remap(args, kernels->stretch); }

static PyObject *clahe(PyObject *self, PyObject *args) {
    Image image, out;
    Py_ssize_t rows, columns;
    double limit;
    int done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "nnd", PARTS(image), PARTS(out), &rows, &columns, &limit)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->clahe(&image, &out, rows, columns, limit);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *sets(PyObject *self, PyObject *args) {
#ifdef AUGMENT_AVX2
    if (__builtin_cpu_supports("avx2")) return Py_BuildValue("[ss]", "base", "avx2");
#endif
    return Py_BuildValue("[s]", "base");
}

static PyObject *use(PyObject *self, PyObject *args) {
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    if (!strcmp(name, "base")) kernels = &kernels_base, compiled = compiled_base;
#ifdef AUGMENT_AVX2
    else if (!strcmp(name, "avx2") && __builtin_cpu_supports("avx2")) kernels = &kernels_avx2, compiled = compiled_avx2;
#endif
    else return PyErr_Format(PyExc_ValueError, "no kernels for %s on this processor", name);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS, "Run a kernel on the rows of a batch."},
    {"names", names, METH_NOARGS, "Name the kernels, whose places are their numbers."},
    {"look_up", look_up, METH_VARARGS, NULL},
    {"linear_levels", linear_levels, METH_VARARGS, NULL},
    {"look_up_floats", look_up_floats, METH_VARARGS, NULL},
    {"adjust_colour", adjust_colour, METH_VARARGS, NULL},
    {"equalize", equalize, METH_VARARGS, NULL},
    {"stretch", stretch, METH_VARARGS, NULL},
    {"clahe", clahe, METH_VARARGS, NULL},
    {"sets", sets, METH_NOARGS, "Name the instruction sets that this processor has kernels for."},
    {"use", use, METH_VARARGS, "Use the kernels for one of them."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "augment._kernels", "Kernels for bytes on the CPU.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernels(void) {
#ifdef AUGMENT_AVX2
    if (__builtin_cpu_supports("avx2")) kernels = &kernels_avx2, compiled = compiled_avx2;
#endif
    PyObject *module = PyModule_Create(&definition);
    if (module) PyModule_AddIntConstant(module, "VERSION", VERSION);
    return module;
}
