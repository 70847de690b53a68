/* broker.h: the amounts of a permit gate: which clients hold how much, and which wait, in one FIFO. broker.c says
 * how. A request takes from its tenant's budget first, if its tenant has one, and then from the gate's. */
#ifndef VOLTGATE_GATE_BROKER_H
#define VOLTGATE_GATE_BROKER_H

#include <pthread.h>
#include <stdbool.h>
#include <volt/budget.h>
#include <volt/notify.h>

#include "config/settings.h"

struct gate;

enum broker_stand {
  BROKER_IDLE,
  BROKER_AT_TENANT, /* waits for its tenant's amounts */
  BROKER_AT_GATE,   /* has these, and waits for the gate's */
  BROKER_HOLDS,
  BROKER_STANDS
};

/* A client: a part of its session. The owner alone calls what has an entry, one at a time; others look
 * at it under the broker's lock. All-zero at first, then broker_entry_init(). */
struct broker_entry {
  struct broker_entry *next, *previous; /* among those that stand as it does, oldest first */
  struct broker_tenant *tenant; /* while it waits or holds; NULL: it has no limit of its own */
  enum broker_stand stand;
  volt_amounts amounts; /* that it asks for, or holds */
  volt_future leaf;     /* its place in a FIFO */
  volt_notify moved;    /* its place has changed */
  uint32_t place;       /* how it stands among all that wait, from 1 on */
  uint32_t told;        /* the place that its client knows; 0: none */
  uint64_t id;          /* of its request */
  uint64_t since_ns;    /* when it asked, or was granted */
  bool has_peer;        /* pid, uid are known */
  uint32_t pid, uid;
  char label[PERMIT_LABEL_BYTES], command[PERMIT_COMMAND_BYTES];
};

/* A budget, and what a claim needs: all under the lock. */
struct broker_pool {
  volt_budget budget;
  uint64_t limit[VOLT_BUDGET_KINDS]; /* as it was set; in force when no client can claim any more */
  volt_amounts plug;                 /* held by the broker itself, so that nothing can be taken */
  volt_amounts beyond;               /* claimed beyond what there is: given back first */
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
  struct broker_pool pool;
  struct broker_tenant *tenants;
  struct broker_list lists[BROKER_STANDS]; /* of BROKER_IDLE: none */
  uint64_t ids;
  bool is_claiming; /* clients can claim, and nothing can be taken */
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

enum broker_outcome {
  BROKER_GRANTED,
  BROKER_QUEUED,
  BROKER_BUSY,       /* it may not wait, and too little is free */
  BROKER_FULL,       /* the queue has no place */
  BROKER_IMPOSSIBLE, /* more than a limit of the gate */
  BROKER_NEVER       /* more than a limit of its tenant */
};

void broker_entry_init(struct broker_entry *e);

/* Ask for e->amounts, which are not all 0. Whatever is not BROKER_GRANTED or BROKER_QUEUED leaves it as it
 * was, and `why` says in words what is missing: BROKER_WHY bytes. */
enum { BROKER_WHY = 160 };
enum broker_outcome broker_take(struct broker *b, struct broker_entry *e, bool may_wait,
                                uint64_t now_ns, char why[BROKER_WHY]);

/* The same, of a client that has held them before this process began: they are granted now, also above
 * the limit. Returns false: the time for that is over. */
bool broker_claim(struct broker *b, struct broker_entry *e, uint64_t now_ns);

/* While it is queued: the future to be polled. When it is ready: how it stands; BROKER_QUEUED: it has
 * moved on, and the future is a new one. Else as broker_take(). */
volt_future *broker_future(struct broker_entry *e);
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

/* ---- to be looked at: any thread ---- */

struct broker_seen {
  uint64_t id, since_ns;
  uint32_t place, pid, uid;
  bool has_peer;
  struct permit_amounts amounts;
  uint32_t lacks; /* of one that waits: kinds, a bit each */
  char label[PERMIT_LABEL_BYTES], command[PERMIT_COMMAND_BYTES], tenant[64];
};

/* Copy the oldest of those that hold, or wait, at most `room`. all: set to how many there are. Returns how
 * many were copied. */
size_t broker_look(struct broker *b, bool are_holders, struct broker_seen *to, size_t room,
                   size_t *all);

struct broker_view {
  uint32_t kinds, holders, waiters;
  bool is_claiming;
  struct broker_kind_view {
    const char *name;
    uint64_t limit, held, free, excess;
    uint32_t waiters; /* of the oldest VOLT_BUDGET_REACH that wait at the gate: that lack it */
  } of[VOLT_BUDGET_KINDS];
};
void broker_read_view(struct broker *b, struct broker_view *v);
/* How many clients hold something. */
uint32_t broker_holders(struct broker *b);

/* ---- of broker.c and broker_queue.c ---- */

struct broker_tenant {
  struct broker_tenant *next;
  char *name;
  uint32_t uid;
  struct broker_pool pool;
};

void broker_lock(struct broker *b);
/* Starts the task that numbers places, if that is due. */
void broker_unlock(struct broker *b);

/* Give amounts back. The lock is held. */
void broker_pool_release(struct broker *b, struct broker_pool *pool, const volt_amounts *amounts);
/* Take them, also above the limit; while clients can claim. The lock is held. */
void broker_pool_claim(struct broker *b, struct broker_pool *pool, const volt_amounts *amounts);
/* The tenant of a request, if it has a limit of its own, or NULL. The lock is held. */
struct broker_tenant *broker_find_tenant(struct broker *b, const struct broker_entry *e);
/* Number those that wait, and notify them. */
void broker_number_places(struct broker *b);

#endif
