// stdlib.h: memory for sources of an application that are compiled into a model: what is allocated is
// constructed, and what uses it after it is freed is reported.
#ifndef VOLT_MODEL_STDLIB_H
#define VOLT_MODEL_STDLIB_H

#include_next <stdlib.h>

struct volt_model_fresh {
  template <typename T>
  operator T *() const {
    return new T();
  }
};

#define calloc(count, bytes) (volt_model_fresh())
#define free(memory) delete (memory)

#endif
