/* The kernels for any processor. */
#define COMPILED
#include "kernels.h"

#define KERNEL(name, cost, bands) name,
const Kernel compiled_base[] = {KERNELS};
