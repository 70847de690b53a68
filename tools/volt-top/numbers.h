/* numbers.h: what the libraries say of where their parts are (src/core/hooks/numbers.h), read from the memory of a
 * process. */
#ifndef VOLT_TOP_NUMBERS_H
#define VOLT_TOP_NUMBERS_H

#include "remote.h"

typedef struct number {
  char name[24];
  uint64_t value;
} number;

typedef struct numbers {
  remote r;
  uint64_t first;      /* of the runtimes; 0: there is none */
  uint64_t fiber_poll; /* of every task that is a fiber */
  uint64_t sleepers;   /* the list of threads that block */
  uint64_t names;      /* the table of names */
  number *at;
  size_t count;
  bool is_there;       /* some volt, maybe of another version */
  const char *missing; /* a number that was asked for and is not there */
} numbers;

/* n->r is open. Returns false: n->r.why. */
bool numbers_find(numbers *n);
void numbers_free(numbers *n);

/* Whether there is a number of that name: some are of builds with VOLT_SIGHT=1. */
bool numbers_have(const numbers *n, const char *name);

uint64_t numbers_of(numbers *n, const char *name);

/* What a kind of object is called, by its number (src/core/hooks/kind.h). "": it has no name, or is not known. */
const char *numbers_kind(const numbers *n, uint64_t kind);

/* A word of a struct at that address, by the name of its offset; and half of one. 0: not there. */
uint64_t numbers_word(numbers *n, uint64_t at, const char *name);
uint32_t numbers_half(numbers *n, uint64_t at, const char *name);

#endif
