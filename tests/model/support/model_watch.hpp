// model_watch.hpp: what the models of volt-run know that it does not: what is true of its threads and locks.
#ifndef VOLT_MODEL_WATCH_HPP
#define VOLT_MODEL_WATCH_HPP

#include <setjmp.h>

#include "model.hpp"
#include "watch/books.h"

enum { THREADS = 4, LOCKS = 4, NONE = 9, ENDED = 7 };

// What is true, and what the kernel knows: of all threads, at once.
struct watch_truth {
  unsigned holder[LOCKS + 1]; // of a lock; NONE; ENDED: a thread that is not there any more
  unsigned wants[THREADS];    // a lock; 0: none
  bool sleeps[THREADS];
  bool is_away[THREADS];           // it does something else, and gives nothing back
  bool will_wake[THREADS];         // by a signal
  unsigned thread_at[THREADS + 1]; // in this place of the books
  int enters;                      // the thread that gets its place
  unsigned reports;
  jmp_buf jump;
  bool is_jump; // ends the first wait of thread 0
};
extern struct watch_truth watch_now;

#endif
