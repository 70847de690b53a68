/* budget.h: descriptors: how many clients may take, and how many are kept back for servers. */
#ifndef VOLTGATE_BUDGET_H
#define VOLTGATE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"

struct budget {
  uint64_t all;     /* that the process may have */
  uint64_t kept;    /* for servers, listeners and the process itself */
  uint64_t clients; /* what is left: for clients (of postgres and redis two each) */
  uint64_t wanted;  /* that clients would take if all came that may */
};

/* Compute it. Returns false: the limits do not fit; words say so. */
bool budget_compute(struct budget *b, const struct settings *settings, uint64_t all, char *words,
                    size_t room);

/* Say in the log that fewer clients than may come can be served at once, if it is so. */
void budget_say(const struct budget *b);

/* The limits may have changed: keep back as many as they need now. Any thread. */
struct program;
void budget_follow(struct program *p);

#endif
