/* The module ``augment._kernels``: hands memory that Python names to the kernels for this processor. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "image.h"

#define VERSION 1 /* of what Python calls; it is that of kernels/core.py */

static const Kernels *kernels = &kernels_base;

/* An image comes as (address, shape, strides). */
#define PLACE "(K(nnn)(nnn))"
#define PARTS(i) &(i).data, &(i).channels, &(i).height, &(i).width, &(i).plane, &(i).line, &(i).pixel

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

static PyObject *median(PyObject *self, PyObject *args) {
    Image image, out;
    Network network;
    const char *comparisons;
    Py_ssize_t size;
    int done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "y#nnn", PARTS(image), PARTS(out), &comparisons, &size, &network.inputs,
                          &network.slots, &network.width))
        return NULL;
    network.comparisons = (const Comparison *)comparisons;
    network.count = size / (Py_ssize_t)sizeof(Comparison);
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->median(&image, &out, &network);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *filter(PyObject *self, PyObject *args) {
    Image image, out;
    Window window;
    const char *taps, *places, *along;
    Py_ssize_t size, places_size, along_size;
    int border, done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "y#y#y#nni", PARTS(image), PARTS(out), &taps, &size, &places, &places_size,
                          &along, &along_size, &window.reach_y, &window.reach_x, &border))
        return NULL;
    window.taps = (const float *)taps, window.places = (const Place *)places, window.along = (const float *)along;
    window.count = size / (Py_ssize_t)sizeof(float), window.count_along = along_size / (Py_ssize_t)sizeof(float);
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->filter(&image, &out, &window, border);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *box(PyObject *self, PyObject *args) {
    Image image, out;
    Py_ssize_t height, width;
    int border, done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "nni", PARTS(image), PARTS(out), &height, &width, &border)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->box(&image, &out, height, width, border);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *sharpen(PyObject *self, PyObject *args) {
    Image image, out;
    float share;
    int done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "f", PARTS(image), PARTS(out), &share)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->sharpen(&image, &out, share);
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

static PyObject *zoom_blur(PyObject *self, PyObject *args) {
    Image image, out;
    double factor;
    Py_ssize_t steps;
    int done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "dn", PARTS(image), PARTS(out), &factor, &steps)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->zoom_blur(&image, &out, factor, steps);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(done);
}

static PyObject *disk_blur(PyObject *self, PyObject *args) {
    Image image, out;
    Py_ssize_t radius, size;
    const char *taps;
    int border, done;
    if (!PyArg_ParseTuple(args, PLACE PLACE "ny#i", PARTS(image), PARTS(out), &radius, &taps, &size, &border))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    done = kernels->disk_blur(&image, &out, radius, (const float *)taps, size / (Py_ssize_t)sizeof(float), border);
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
    if (!strcmp(name, "base")) kernels = &kernels_base;
#ifdef AUGMENT_AVX2
    else if (!strcmp(name, "avx2") && __builtin_cpu_supports("avx2")) kernels = &kernels_avx2;
#endif
    else return PyErr_Format(PyExc_ValueError, "no kernels for %s on this processor", name);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"look_up", look_up, METH_VARARGS, NULL},
    {"linear_levels", linear_levels, METH_VARARGS, NULL},
    {"look_up_floats", look_up_floats, METH_VARARGS, NULL},
    {"adjust_colour", adjust_colour, METH_VARARGS, NULL},
    {"resample_axes", resample_axes, METH_VARARGS, NULL},
    {"warp", warp, METH_VARARGS, NULL},
    {"median", median, METH_VARARGS, NULL},
    {"filter", filter, METH_VARARGS, NULL},
    {"box", box, METH_VARARGS, NULL},
    {"sharpen", sharpen, METH_VARARGS, NULL},
    {"jpeg", jpeg, METH_VARARGS, NULL},
    {"downscale", downscale, METH_VARARGS, NULL},
    {"rearrange", rearrange, METH_VARARGS, NULL},
    {"equalize", equalize, METH_VARARGS, NULL},
    {"stretch", stretch, METH_VARARGS, NULL},
    {"clahe", clahe, METH_VARARGS, NULL},
    {"zoom_blur", zoom_blur, METH_VARARGS, NULL},
    {"disk_blur", disk_blur, METH_VARARGS, NULL},
    {"sets", sets, METH_NOARGS, "Name the instruction sets that this processor has kernels for."},
    {"use", use, METH_VARARGS, "Use the kernels for one of them."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "augment._kernels", "Kernels for bytes on the CPU.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernels(void) {
#ifdef AUGMENT_AVX2
    if (__builtin_cpu_supports("avx2")) kernels = &kernels_avx2;
#endif
    PyObject *module = PyModule_Create(&definition);
    if (module) PyModule_AddIntConstant(module, "VERSION", VERSION);
    return module;
}
