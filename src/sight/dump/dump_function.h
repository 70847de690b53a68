/* dump_function.h: which module a function is in, and where: "standstill+0x124f", as addr2line
 * wants it. Names of functions are in the file of the module, if at all, which no dump reads. */
#ifndef VOLT_SIGHT_DUMP_DUMP_FUNCTION_H
#define VOLT_SIGHT_DUMP_DUMP_FUNCTION_H

#include "dump_text.h"

enum { VOLT_FUNCTIONS_MAX_ = 64, VOLT_FUNCTION_BYTES_ = 64 };

typedef struct volt_function_ {
  uintptr_t address;
  unsigned length;
  char text[VOLT_FUNCTION_BYTES_];
} volt_function_;

/* What is known. All-zero: nothing. */
struct volt_functions_ {
  unsigned count, next; /* next: to forget, if there are too many */
  bool may_ask; /* the C library, which waits while a thread loads a module: no task is held back */
  volt_function_ function[VOLT_FUNCTIONS_MAX_];
};

/* Ask for it now. */
void volt_function_learn_(struct volt_functions_ *functions, uintptr_t function);

/* Its module and place there; or its address, if they are not known, and may not be asked for. */
void volt_text_put_function_(volt_text_ *t, uintptr_t function);

#endif
