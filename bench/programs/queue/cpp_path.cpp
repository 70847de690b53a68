/* cpp_path.cpp: see cpp_path.h. */
#include "cpp_path.h"

#include <volt/volt.hpp>

namespace {

volatile uint64_t element;

/* The object is hidden from the compiler, as by HIDE() of paths.c. */
template <class Object, class Path>
inline void each(void *objects, size_t stride, unsigned count, Path path) {
  char *end = static_cast<char *>(objects) + stride * count;
  for (char *at = static_cast<char *>(objects); at != end; at += stride) {
    VOLT_FORGET_(at);
    path(*reinterpret_cast<Object *>(at));
  }
}

} // namespace

void cpp_mutex_take(void *objects, size_t stride, unsigned count) {
  each<volt_mutex>(objects, stride, count,
                   [](volt_mutex &m) { (void)volt::lock_operation(m).wait().release(); });
}

void cpp_mutex_pair(void *objects, size_t stride, unsigned count) {
  each<volt_mutex>(objects, stride, count, [](volt_mutex &m) {
    volt_mutex *hidden = &m;
    volt::lock guard = volt::lock_operation(m).wait();
    VOLT_FORGET_(hidden);
  });
}

void cpp_sem_take(void *objects, size_t stride, unsigned count) {
  each<volt_sem>(objects, stride, count,
                 [](volt_sem &s) { (void)volt::acquire_operation(s, 1).wait().disown(); });
}

void cpp_sem_pair(void *objects, size_t stride, unsigned count) {
  each<volt_sem>(objects, stride, count, [](volt_sem &s) {
    volt_sem *hidden = &s;
    volt::permits guard = volt::acquire_operation(s, 1).wait();
    VOLT_FORGET_(hidden);
  });
}

void cpp_chan_take(void *objects, size_t stride, unsigned count) {
  each<volt_chan>(objects, stride, count,
                  [](volt_chan &c) { volt::send_operation<uint64_t>(c, element).wait(); });
}

void cpp_chan_pair(void *objects, size_t stride, unsigned count) {
  each<volt_chan>(objects, stride, count, [](volt_chan &c) {
    volt_chan *hidden = &c;
    volt::send_operation<uint64_t>(c, element).wait();
    VOLT_FORGET_(hidden);
    element = volt::recv_operation<uint64_t>(*hidden).wait();
  });
}
