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

/* An axis comes as (factor, offset, start, size). */
#define AXIS "(ddnn)"
#define AXIS_PARTS(a) &(a).factor, &(a).offset, &(a).start, &(a).size

static PyObject *resample_axes(PyObject *self, PyObject *args) {
    Image image, out;
    Axis axes[2];
    const char *fill;
    Py_ssize_t fill_size;
    int padding, done;
    if (!PyArg_ParseTuple(args, PLACE PLACE AXIS AXIS "iy#", PARTS(image), PARTS(out), AXIS_PARTS(axes[0]),
                          AXIS_PARTS(axes[1]), &padding, &fill, &fill_size))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->resample_axes(&image, &out, axes, padding, (const float *)fill);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *warp(PyObject *self, PyObject *args) {
    Image image, out;
    Floats field;
    double m[9];
    const char *fill;
    Py_ssize_t fill_size;
    int projective, has_field, levels[2], padding, done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "((ddd)(ddd)(ddd))p" PLACE "p(ii)iy#", PARTS(image), PARTS(out), m, m + 1,
                          m + 2, m + 3, m + 4, m + 5, m + 6, m + 7, m + 8, &projective, PARTS(field), &has_field,
                          levels, levels + 1, &padding, &fill, &fill_size))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->warp(&image, &out, m, projective, has_field ? &field : NULL, levels, padding, (const float *)fill);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *jpeg(PyObject *self, PyObject *args) {
    Image image, out;
    const char *tables;
    Py_ssize_t size;
    int done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "y#", PARTS(image), PARTS(out), &tables, &size)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->jpeg(&image, &out, (const float *)tables);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *downscale(PyObject *self, PyObject *args) {
    Image image, out;
    Py_ssize_t h, w;
    int down, up, done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "nnii", PARTS(image), PARTS(out), &h, &w, &down, &up)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->downscale(&image, &out, h, w, down, up);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *rearrange(PyObject *self, PyObject *args) {
    Image image, out;
    const char *rows; /* of a batch, whether each is done */
    Py_ssize_t count, step, out_step;
    int flip_y, flip_x, done = 1;
    if (!PyArg_ParseTuple(args, PLACE PLACE "nnppy#", PARTS(image), PARTS(out), &step, &out_step, &flip_y, &flip_x,
                          &rows, &count))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    for (Py_ssize_t i = 0; i < count && done; i++, image.data += step, out.data += out_step)
        if (rows[i]) done = kernels->rearrange(&image, &out, flip_y, flip_x);
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
    {"resample_axes", resample_axes, METH_VARARGS, NULL},
    {"warp", warp, METH_VARARGS, NULL},
    {"jpeg", jpeg, METH_VARARGS, NULL},
    {"downscale", downscale, METH_VARARGS, NULL},
    {"rearrange", rearrange, METH_VARARGS, NULL},
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
