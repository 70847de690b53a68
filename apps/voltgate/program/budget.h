/* budget.h: descriptors: how many clients may take, and how many are kept back for servers. */
#ifndef VOLTGATE_PROGRAM_BUDGET_H
#define VOLTGATE_PROGRAM_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/settings.h"

struct budget {
  uint64_t all;     /* that the process may have */
  uint64_t kept;    /* for servers, listeners and the process itself */
  uint64_t clients; /* what is left: for clients (of postgres and redis two each) */
  uint64_t wanted;  /* that clients would take if all came that may */
  uint64_t may;     /* clients that may come, of all gates */
  uint32_t cost;    /* of a client of the gate where it is largest */
  bool is_given;    /* `clients` of a gate is no preset */
};

/* Compute it. Returns false: the limits do not fit; words say so. */
bool fd_budget_compute(struct budget *b, const struct settings *settings, uint64_t all, char *words,
                       size_t room);

/* What to do so that as many clients are served as may come. Returns false: nothing; words say how
 * many can be served if that is less, and are empty else. */
bool fd_budget_words(const struct budget *b, char *words, size_t room);

/* Say it in the log, if it was not said before. */
struct program;
void fd_budget_say(struct program *p, const struct budget *b);

/* How many connections the admin side may have. */
enum { ADMIN_CONNECTIONS = 64 }; /* at most */
uint32_t fd_budget_admin(uint64_t all);

/* The limits may have changed: keep back as many as they need now. Any thread. */
void fd_budget_follow(struct program *p);

#endif
