/* heap.c: the nodes of `allocating`: libc's memory, or an object that the model checker follows. */
#include "heap.h"

#if defined(VOLT_MODEL)

volt_waiter *volt_allocating_alloc_(void) {
  return new volt_waiter();
}

void volt_allocating_free_(volt_waiter *node) {
  delete node;
}

#else

#include <stdlib.h>

volt_waiter *volt_allocating_alloc_(void) {
  return (volt_waiter *)calloc(1, sizeof(volt_waiter)); /* all zero: unused */
}

void volt_allocating_free_(volt_waiter *node) {
  free(node);
}

#endif
