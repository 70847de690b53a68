/* coro_trace.hpp: where coroutines wait. Part of volt/coro.hpp. */
#ifndef VOLT_CPP_CORO_TRACE_HPP
#define VOLT_CPP_CORO_TRACE_HPP

#include "coro_spawn.hpp"

VOLT_CORO_BEGIN_

/* From the root to the leaf, one line each. Private. */
inline void print_trail_(const volt_trail_ *leaf, std::FILE *to) {
  if (!leaf) return;
  print_trail_(volt_trail_outer_(leaf), to);
  if (leaf->place)
    std::fprintf(to, "%s:%u: %s\n", leaf->place->file, leaf->place->line, leaf->place->function);
}

/* Write where the coroutines of a task wait, from the root to the leaf: a line "file:line: function"
 * for each. Of a task that runs: where those of its coroutines that have not ended have waited last. Of
 * one that has not waited yet, or has ended: nothing. clang 14 does not say where, and then this says
 * so. volt_dump() (volt/sight.h) shows all tasks in this way.
 * Threads: while the task does not run: by hand, in a debugger, or the task itself. */
template <class T>
void print_trace(join_handle<T> &h, std::FILE *to) {
  if (!VOLT_CORO_TELLS_) std::fputs("volt: this compiler does not say where coroutines wait\n", to);
  if (h.c()) print_trail_(volt_frame_trail_(&h.c()->frame), to);
}

VOLT_CORO_END_

#endif
