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

static PyObject *sets(PyObject *self, PyObject *args) {
#ifdef AUGMENT_AVX2
    if (__builtin_cpu_supports("avx2")) return Py_BuildValue("[ss]", "base", "avx2");
#endif
    return Py_BuildValue("[s]", "base");
}

static PyObject *use(PyObject *self, PyObject *args) {
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    if (!strcmp(name, "base")) compiled = compiled_base;
#ifdef AUGMENT_AVX2
    else if (!strcmp(name, "avx2") && __builtin_cpu_supports("avx2")) compiled = compiled_avx2;
#endif
    else return PyErr_Format(PyExc_ValueError, "no kernels for %s on this processor", name);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS, "Run a kernel on the rows of a batch."},
    {"names", names, METH_NOARGS, "Name the kernels, whose places are their numbers."},
    {"sets", sets, METH_NOARGS, "Name the instruction sets that this processor has kernels for."},
    {"use", use, METH_VARARGS, "Use the kernels for one of them."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "augment._kernels", "Kernels for bytes on the CPU.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernels(void) {
#ifdef AUGMENT_AVX2
    if (__builtin_cpu_supports("avx2")) compiled = compiled_avx2;
#endif
    PyObject *module = PyModule_Create(&definition);
    if (module) PyModule_AddIntConstant(module, "VERSION", VERSION);
    return module;
}
