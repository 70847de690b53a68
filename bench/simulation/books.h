/* books.h: what is counted beside a simulated run, at no simulated cost: who is inside of a lock,
 * who waits, who came first. A run whose books do not add up fails. */
#ifndef VOLT_SIMULATION_BOOKS_H
#define VOLT_SIMULATION_BOOKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct books_says {
  uint64_t entries;
  double p50_ns, p99_ns, p999_ns, longest_ns; /* of the waits of those that queued, 0 of others */
  uint64_t most_passed;                       /* entries of others while one was queued */
  uint64_t most_passes; /* of those that did not queue, between two that did */
} books_says;

/* members of which at most `at_once` are inside. bypass: how many that did not queue may have it
 * between two that did, while somebody is queued, 0: first come, first served; UINT32_MAX: no
 * promise. */
void books_begin(uint32_t members, uint32_t at_once, uint32_t bypass);
void books_asks(uint32_t member, bool alone); /* before it is queued, or inside */
void books_waits(uint32_t member);            /* it is queued by now */
void books_enters(uint32_t member);
void books_leaves(uint32_t member);
books_says books_end(void);

#endif
