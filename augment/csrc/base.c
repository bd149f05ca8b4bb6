/* The kernels for any processor. */
#include "kernels.h"

const Kernels kernels_base = KERNELS;
