/* The module ``augment._kernels``: hands memory that Python names to the kernels for this processor. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "image.h"

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
    if (!strcmp(name, "base")) kernels = &kernels_base;
#ifdef AUGMENT_AVX2
    else if (!strcmp(name, "avx2") && __builtin_cpu_supports("avx2")) kernels = &kernels_avx2;
#endif
    else return PyErr_Format(PyExc_ValueError, "no kernels for %s on this processor", name);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"look_up", look_up, METH_VARARGS, NULL},
    {"adjust_colour", adjust_colour, METH_VARARGS, NULL},
    {"resample_axes", resample_axes, METH_VARARGS, NULL},
    {"warp", warp, METH_VARARGS, NULL},
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
    if (__builtin_cpu_supports("avx2")) kernels = &kernels_avx2;
#endif
    return PyModule_Create(&definition);
}
