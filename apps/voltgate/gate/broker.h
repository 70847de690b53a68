/* broker.h: the amounts of a permit gate: which clients hold how much, and which wait, in one FIFO. broker.c says
 * how. A request counts at its tenant first, if its tenant has limits, and then it takes from the gate's budget. */
#ifndef VOLTGATE_GATE_BROKER_H
#define VOLTGATE_GATE_BROKER_H

#include <pthread.h>
#include <stdbool.h>
#include <volt/budget.h>
#include <volt/notify.h>

#include "config/settings.h"

struct gate;

/* What its owner knows of a client. */
enum broker_stand { BROKER_IDLE, BROKER_WAITS, BROKER_HOLDS };

/* Where it is. */
enum broker_where {
  BROKER_NOWHERE, /* idle; or its request was refused while it was outside */
  BROKER_OUTSIDE, /* waits until its tenant has as much, and no client can claim */
  BROKER_AT_GATE, /* its tenant has that, and it is in the FIFO of the gate's budget */
  BROKER_HOLDERS,
  BROKER_PLACES
};

enum broker_outcome {
  BROKER_GRANTED,
  BROKER_QUEUED,
  BROKER_BUSY,       /* it may not wait, and too little is free */
  BROKER_FULL,       /* the queue has no place */
  BROKER_IMPOSSIBLE, /* more than a limit of the gate */
  BROKER_NEVER       /* more than a limit of its tenant */
};

struct broker_link {
  struct broker_entry *next, *previous;
};
enum { BROKER_IN_ALL, BROKER_IN_TENANT, BROKER_IN_STILL, BROKER_LINKS };

enum { BROKER_CGROUP = 256 };

/* A client: a part of its session. The owner alone calls what has an entry, one at a time; others look
 * at it under the broker's lock. All-zero at first, then broker_entry_init(). */
struct broker_entry {
  enum broker_stand stand; /* the owner's alone */
  enum broker_where where; /* this and what follows: changed under the lock */
  struct broker_link
      links[BROKER_LINKS]; /* among those that are where it is; among those of its tenant outside */
  uint64_t order;          /* in its list */
  uint32_t stop;           /* while it stands still: since which stop */
  struct broker_tenant *tenant; /* while it waits or holds; NULL: it has no limit of its own */
  enum broker_outcome refusal;  /* while it waits, and is nowhere */
  volt_amounts amounts;         /* that it asks for, or holds */
  volt_future leaf;             /* its place in the gate's FIFO, once it is there */
  volt_notify moved;            /* its place has changed, or where it is */
  uint32_t place;               /* how it stands among all that wait, from 1 on */
  uint32_t told;                /* the place that its client knows; 0: none */
  uint64_t id;                  /* of its request */
  uint64_t since_ns;            /* when it asked, or was granted */
  bool has_peer;                /* pid, uid are known */
  uint32_t pid, uid;
  char label[PERMIT_LABEL_BYTES], command[PERMIT_COMMAND_BYTES];
  char cgroup[BROKER_CGROUP]; /* of its process, when it connected; "": not known */
};

struct broker_list {
  struct broker_entry *first, *last;
  uint32_t count;
};

struct broker {
  struct gate *gate;
  uint32_t kinds;
  char names[VOLT_BUDGET_KINDS][PERMIT_KIND_BYTES];
  pthread_mutex_t lock; /* of all that follows */
  volt_budget budget;
  struct broker_tenant *tenants;
  struct broker_list lists[BROKER_PLACES]; /* of BROKER_NOWHERE: none */
  uint64_t ids, orders;
  struct broker_list still; /* clients that do nothing more */
  bool has_lost;            /* one of those has ended since */
  atomic_bool is_stopped;   /* clients have to stand still: changed under the lock */
  uint32_t stops,
      passed; /* how often that was said; those that have stood still since are another process's */
  uint32_t claims;  /* how often clients could claim: which of the tasks is the last */
  bool is_claiming; /* clients can claim, and no request is let in */
  bool has_moved;   /* places have changed since they were numbered */
  bool is_ticking;  /* a task will number them */
};

/* The broker of a gate, whose settings are in force. Returns NULL: no memory. */
struct broker *broker_new(struct gate *g, const struct gate_settings *s);
void broker_free(
    struct broker *b); /* NULL is fine; no client may be left, and no task of the gate */

/* New settings hold from now on. Their kinds are those of the broker. Returns false: no memory for a new
 * tenant, which has no limit of its own then. */
bool broker_set(struct broker *b, const struct gate_settings *s);

/* Whether these settings have the kinds of the broker. */
bool broker_has_kinds(const struct broker *b, const struct gate_settings *s);

/* The number of a kind, or -1. */
int broker_kind(const struct broker *b, const char *name);

/* Change the limit of a kind. Any thread. */
void broker_set_limit(struct broker *b, unsigned kind, uint64_t limit);

/* Amounts by the numbers of kinds. Returns NULL, or the name of a kind that there is not. */
const char *broker_read(const struct broker *b, const struct permit_amounts *a, volt_amounts *to);
/* And back: those that are not 0. */
void broker_write(const struct broker *b, const volt_amounts *a, struct permit_amounts *to);

/* ---- of a client ---- */

void broker_entry_init(struct broker_entry *e);

/* Ask for e->amounts, which are not all 0. Whatever is not BROKER_GRANTED or BROKER_QUEUED leaves it as it
 * was, and `why` says in words what is missing: BROKER_WHY bytes. */
enum { BROKER_WHY = 160 };
enum broker_outcome broker_take(struct broker *b, struct broker_entry *e, bool may_wait,
                                uint64_t now_ns, char why[BROKER_WHY]);

/* The same, of a client that has held them before this process began: they are granted now, also above
 * the limit. Returns false: the time for that is over. */
bool broker_claim(struct broker *b, struct broker_entry *e, uint64_t now_ns);

/* While it is queued: the future to be polled; NULL: it has none yet, and e->moved says when to ask again.
 * broker_ready(): how it stands, whenever one of both is ready; BROKER_QUEUED: ask for the future again. Else
 * as broker_take(). */
volt_future *broker_future(struct broker *b, struct broker_entry *e);
enum broker_outcome broker_ready(struct broker *b, struct broker_entry *e, uint64_t now_ns,
                                 char why[BROKER_WHY]);

/* Leave the queue. What was granted at the same moment is given back. */
void broker_leave(struct broker *b, struct broker_entry *e);

/* Give back a part of what it holds. Returns false: it does not hold as much, and nothing has changed. */
bool broker_give(struct broker *b, struct broker_entry *e, const volt_amounts *part);
/* All of it. */
void broker_give_all(struct broker *b, struct broker_entry *e);

/* The place that its client has to hear of now, or 0: it knows it. */
uint32_t broker_news(struct broker *b, struct broker_entry *e);

/* ---- another process takes over: broker_pass.c ---- */

/* All clients have to stand still, and hear of that by news. */
void broker_stop(struct broker *b);
/* They go on; or, is_passed: another process has those that stand still. */
void broker_go_on(struct broker *b, bool is_passed);

static inline bool broker_is_stopped(const struct broker *b) {
  /* relaxed: a client that does not see it yet is woken, and all else is looked at under the lock */
  return atomic_load_explicit(&b->is_stopped, memory_order_relaxed);
}

/* Its task does nothing any more but to wait for news. Returns false: clients go on. */
bool broker_stand_still(struct broker *b, struct broker_entry *e);
bool broker_has_to_stand(struct broker *b, const struct broker_entry *e);
/* It goes on, or ends. Returns true: another process has it. */
bool broker_move_on(struct broker *b, struct broker_entry *e);

/* Whether all clients stand still, and none of them has ended since. */
bool broker_is_still(struct broker *b, bool *has_lost);

/* The lock is held, and all stand still: call this for each, in the order in which they have to be adopted: those
 * that hold, those that were granted something and do not know of it, those that wait, in the order of their places, and the
 * others. is_waiting: also of those that do not know of their grant. Returns false: `each` has. */
bool broker_each_still(struct broker *b,
                       bool (*each)(void *arg, struct broker_entry *e, bool is_waiting), void *arg);

/* The other process: what clients hold and wait for comes by the next function, and no request is let in until
 * broker_end_adoption(). */
void broker_begin_adoption(struct broker *b);
/* As it held (also above a limit), or as the last that waits. id, since_ns: as they were. Returns false: it cannot hold
 * as much. */
bool broker_adopt(struct broker *b, struct broker_entry *e, enum broker_stand stand, uint64_t id,
                  uint64_t since_ns);
/* can_claim: clients of the old process could claim still: they can here, as after the start. */
void broker_end_adoption(struct broker *b, bool can_claim);

/* Clients can claim, as after the start: those that were passed on have lost their connections. */
void broker_claim_again(struct broker *b);

/* ---- to be looked at: any thread ---- */

struct broker_seen {
  uint64_t id, since_ns;
  uint32_t place, pid, uid;
  bool has_peer;
  struct permit_amounts amounts;
  uint32_t lacks; /* of one that waits: kinds, a bit each */
  char label[PERMIT_LABEL_BYTES], command[PERMIT_COMMAND_BYTES], tenant[64];
};

/* The last client that broker_look() has copied; all-zero: none yet. */
struct broker_cursor {
  enum broker_where where;
  uint64_t order;
};

/* Copy the oldest of those that hold, or wait, behind *at, at most `room`. Those of one call are seen at one
 * moment. all: set to how many there are. Returns how many were copied. */
size_t broker_look(struct broker *b, bool are_holders, struct broker_cursor *at,
                   struct broker_seen *to, size_t room, size_t *all);

struct broker_view {
  uint32_t kinds, holders, waiters;
  bool is_claiming;
  struct broker_kind_view {
    const char *name;
    uint64_t limit, held, free, excess;
    uint32_t waiters; /* of the oldest VOLT_BUDGET_REACH that wait: that lack it */
  } of[VOLT_BUDGET_KINDS];
};
void broker_read_view(struct broker *b, struct broker_view *v);
/* How many clients hold something. */
uint32_t broker_holders(struct broker *b);

/* ---- of the files of the broker; the lock is held ---- */

struct broker_tenant {
  struct broker_tenant *next;
  char *name;
  uint32_t uid;
  bool is_named;            /* the settings have it */
  volt_amounts limit, held; /* held: also by those that wait at the gate */
  struct broker_list outside;
};

void broker_lock(struct broker *b);
/* Starts the task that numbers places, if that is due. */
void broker_unlock(struct broker *b);

/* The tenant of a request, if it has limits of its own, or NULL. */
struct broker_tenant *broker_find_tenant(struct broker *b, const struct broker_entry *e);

/* Returns false: no memory for a new one, which has no limit of its own then. */
bool broker_set_tenants(struct broker *b, const struct gate_settings *s);
/* The first kind of which a tenant has less left than is asked for; or how many kinds there are. t: may be NULL,
 * as in the next. */
uint32_t broker_tenant_short(const struct broker *b, const struct broker_tenant *t,
                             const volt_amounts *need);
void broker_tenant_take(const struct broker *b, struct broker_tenant *t,
                        const volt_amounts *amounts);
/* Give it back to the tenant alone: no client is let in by that. */
void broker_tenant_return(const struct broker *b, struct broker_tenant *t,
                          const volt_amounts *amounts);
/* What it lacks of its tenant's: as volt_budget_explain(). */
void broker_explain_tenant(const struct broker *b, const struct broker_entry *e,
                           char why[BROKER_WHY]);

/* Let those into the gate's FIFO that wait outside and may go on: of a tenant, or of all. */
void broker_let_in(struct broker *b, struct broker_tenant *t);
void broker_let_all_in(struct broker *b);
/* Refuse those outside that ask for more than a limit; and notify those at the gate that ask for more than their tenant's:
 * they refuse themselves, because their futures are their owners'. */
void broker_refuse_outside(struct broker *b);
void broker_notify_those_at_gate(struct broker *b);

/* What broker_pass.c has of broker_queue.c: take what was claimed; whether a request is within the limits; where it
 * waits, or that it holds. */
bool broker_claim_at_gate(struct broker *b, const volt_amounts *amounts);
enum broker_outcome broker_judge(const struct broker *b, const struct broker_entry *e);
void broker_wait_at(struct broker *b, struct broker_entry *e, enum broker_where where);
/* No client waits any more; all stand still, and hear no more of it than that they end. */
void broker_forget_waiters(struct broker *b);
void broker_grant(struct broker *b, struct broker_entry *e, uint64_t now_ns);
void broker_list_add(struct broker_list *l, struct broker_entry *e, unsigned which);
void broker_list_remove(struct broker_list *l, struct broker_entry *e, unsigned which);

/* Clients can claim for this time from now on. Returns false: no memory for the task that ends it. Takes the lock itself. */
bool broker_begin_claims(struct broker *b, uint64_t period_ns);
/* No client can claim any more: requests are let in. */
void broker_open(struct broker *b);

/* Number those that wait, and notify them. Takes the lock itself. */
void broker_number_places(struct broker *b);

#endif
