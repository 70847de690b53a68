/* rough_ensemble.h: an ensemble in memory, for hosts of one process on real threads.
 *
 * One lock holds everything, and each host's answers come in its own time. By chance it cuts a
 * host's connection: of the writes under way some are carried out, one possibly later, the answers
 * are lost. Now and then it keeps a host away for longer than its session. Reads are never old
 * here, and time is that of the runtime, one for all hosts: the simulated ensemble is for the rest.
 * Included by one file of a program. */
#ifndef VOLT_TEST_ROUGH_ENSEMBLE_H
#define VOLT_TEST_ROUGH_ENSEMBLE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/cluster_backend.h>
#include <volt/notify.h>
#include <volt/select.h>

#include "rng.h"

typedef struct rough_ensemble rough_ensemble;

/* What becomes of a request. */
enum rough_fate {
  ROUGH_ANSWER,      /* it is carried out and answered, unless chance cuts the connection */
  ROUGH_CUT_BEFORE,  /* the connection is lost, and it is not carried out */
  ROUGH_CUT_AFTER,   /* the connection is lost, and it was carried out */
  ROUGH_CUT_LATE,    /* the connection is lost, and a write is carried out after the host is back */
  ROUGH_AWAY_BEFORE, /* as CUT, for longer than the session */
  ROUGH_AWAY_AFTER
};

typedef struct rough_faults {
  uint32_t delay_ns;  /* an answer takes at most so long */
  uint32_t cut_1_in;  /* of so many answers one cuts the connection instead; 0: none */
  uint32_t away_1_in; /* of so many cuts one lasts longer than the session; 0: none */
  /* The test decides. May be NULL. delay_ns: how long the answer takes: may be changed. */
  enum rough_fate (*fate)(const volt_cluster_request *r, uint64_t *delay_ns, void *arg);
  void *arg;
} rough_faults;

typedef struct rough_node {
  struct rough_node *next;
  uint32_t hash, parent; /* of the path, and of its parent's: a look at thousands is cheap */
  char *path;
  char *data;
  uint32_t size;
  uint32_t made; /* children that were ever made under it */
  volt_cluster_node of;
} rough_node;

typedef struct rough_watch {
  struct rough_watch *next;
  struct volt_cluster_backend *whose;
  uint32_t hash;
  char *path;
  enum volt_cluster_request_kind kind;
  uint32_t number;
} rough_watch;

/* A write whose connection was cut, to be carried out all the same. */
typedef struct rough_late {
  volt_cluster_action *actions;
  char **data;
  uint32_t count;
  uint64_t due_ns;
} rough_late;

/* Beside a request: its answer. */
typedef struct rough_answer {
  uint64_t due_ns;
  enum rough_fate fate;
  bool is_done; /* carried out */
  char *bytes;
  const char **names;
} rough_answer;

struct rough_ensemble {
  pthread_mutex_t lock;
  rough_faults faults;
  rng random;
  rough_node *nodes;
  rough_watch *watches;
  struct volt_cluster_backend *hosts;
  uint64_t transaction;
  uint64_t sessions;
};

enum rough_line { ROUGH_NEVER, ROUGH_UP, ROUGH_DOWN, ROUGH_ENDED };

struct volt_cluster_backend {
  struct volt_cluster_backend *next;
  rough_ensemble *of;
  volt_cluster_client client;
  volt_rt *rt;
  uint64_t session, session_ns, touched_ns;
  enum rough_line line;
  bool is_new, is_expired; /* session events to be told */
  uint64_t up_ns;          /* when the line is up again */
  volt_cluster_request *first, **last;
  uint32_t *events;
  uint32_t event_count, event_room;
  rough_late *late;
  volt_notify bell;
  volt_future rung;
  volt_sleep_op sleep;
  volt_select select;
  volt_future *either[2];
};

static void rough_check(bool is_so, const char *what) {
  if (is_so) return;
  fprintf(stderr, "rough ensemble: %s\n", what);
  abort();
}

static void *rough_memory(size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  rough_check(p != NULL, "no memory");
  return p;
}

static char *rough_copy(const char *bytes, uint32_t size) {
  char *p = rough_memory((size_t)size + 1);
  if (size) memcpy(p, bytes, size);
  return p;
}

/* ---- the tree ---- */

static uint32_t rough_hash(const char *path) {
  uint32_t hash = 1;
  while (*path) hash = hash * 31 + (unsigned char)*path++;
  return hash;
}

static rough_node **rough_find(rough_ensemble *e, const char *path) {
  uint32_t hash = rough_hash(path);
  rough_node **at = &e->nodes;
  while (*at && ((*at)->hash != hash || strcmp((*at)->path, path) != 0)) at = &(*at)->next;
  return at;
}

static void rough_parent(const char *path, char *parent) {
  snprintf(parent, VOLT_CLUSTER_PATH, "%s", path);
  char *slash = strrchr(parent, '/');
  *slash = '\0';
}

static const char *rough_child_of(const rough_node *n, const char *path, uint32_t hash) {
  if (n->parent != hash) return NULL;
  size_t length = strlen(path);
  if (strncmp(n->path, path, length) != 0 || n->path[length] != '/') return NULL;
  return strchr(n->path + length + 1, '/') ? NULL : n->path + length + 1;
}

static uint32_t rough_count_children(rough_ensemble *e, const char *path) {
  uint32_t hash = rough_hash(path), count = 0;
  for (rough_node *n = e->nodes; n; n = n->next) count += rough_child_of(n, path, hash) != NULL;
  return count;
}

static void rough_fire(rough_ensemble *e, const char *path, bool of_children) {
  uint32_t hash = rough_hash(path);
  for (rough_watch **at = &e->watches; *at;) {
    rough_watch *w = *at;
    if (w->hash != hash || strcmp(w->path, path) != 0 ||
        of_children != (w->kind == VOLT_CLUSTER_CHILDREN)) {
      at = &w->next;
      continue;
    }
    volt_cluster_backend *b = w->whose;
    if (b->event_count == b->event_room) {
      b->event_room = b->event_room ? 2 * b->event_room : 16;
      b->events = realloc(b->events, b->event_room * sizeof *b->events);
      rough_check(b->events != NULL, "no memory");
    }
    b->events[b->event_count++] = w->number;
    volt_notify_one(&b->bell);
    *at = w->next;
    free(w->path);
    free(w);
  }
}

static void rough_fire_node(rough_ensemble *e, const char *path, bool is_deleted) {
  char parent[VOLT_CLUSTER_PATH];
  rough_parent(path, parent);
  rough_fire(e, path, false);
  if (is_deleted) rough_fire(e, path, true);
  rough_fire(e, parent, true);
}

static void rough_delete(rough_ensemble *e, rough_node **at) {
  rough_node *n = *at;
  *at = n->next;
  rough_fire_node(e, n->path, true);
  free(n->path);
  free(n->data);
  free(n);
}

static void rough_forget(rough_ensemble *e, volt_cluster_backend *b) {
  for (rough_watch **at = &e->watches; *at;) {
    rough_watch *w = *at;
    if (w->whose != b) {
      at = &w->next;
      continue;
    }
    *at = w->next;
    free(w->path);
    free(w);
  }
}

/* ---- transactions ---- */

/* Whether this action can be done; those before it in the transaction count as done. */
static int rough_may(rough_ensemble *e, const volt_cluster_action *all, uint32_t i) {
  const volt_cluster_action *a = &all[i];
  bool is_there = *rough_find(e, a->path) != NULL;
  for (uint32_t k = 0; k < i; k++) {
    if (strcmp(all[k].path, a->path) != 0) continue;
    if (all[k].kind == VOLT_CLUSTER_DELETE) is_there = false;
    if (all[k].kind == VOLT_CLUSTER_CREATE && !all[k].is_sequential) is_there = true;
  }
  if (a->kind == VOLT_CLUSTER_CREATE) {
    char parent[VOLT_CLUSTER_PATH];
    rough_parent(a->path, parent);
    bool has_parent = parent[0] == '\0' || *rough_find(e, parent) != NULL;
    for (uint32_t k = 0; k < i; k++) {
      if (strcmp(all[k].path, parent) == 0) has_parent = all[k].kind != VOLT_CLUSTER_DELETE;
    }
    if (!has_parent) return VOLT_CLUSTER_ENONODE;
    return is_there && !a->is_sequential ? VOLT_CLUSTER_EEXISTS : VOLT_OK;
  }
  if (!is_there) return VOLT_CLUSTER_ENONODE;
  rough_node *n = *rough_find(e, a->path);
  if (a->kind == VOLT_CLUSTER_SET && a->version >= 0 && n &&
      n->of.version != (uint32_t)a->version) {
    return VOLT_CLUSTER_EVERSION;
  }
  if (a->kind == VOLT_CLUSTER_DELETE && rough_count_children(e, a->path) > 0) {
    return VOLT_CLUSTER_ENOTEMPTY;
  }
  return VOLT_OK;
}

static void rough_create(rough_ensemble *e, volt_cluster_action *a, uint64_t session) {
  if (a->is_sequential) {
    char parent[VOLT_CLUSTER_PATH];
    rough_parent(a->path, parent);
    size_t length = strlen(a->path);
    rough_node *of = *rough_find(e, parent);
    snprintf(a->path + length, sizeof a->path - length, "%010d", (int)of->made);
  }
  rough_node *n = rough_memory(sizeof *n);
  n->path = rough_copy(a->path, (uint32_t)strlen(a->path));
  n->data = rough_copy(a->data, a->size);
  n->size = a->size;
  n->of.created = n->of.changed = e->transaction;
  n->of.owner = a->is_ephemeral ? session : 0;
  a->node = n->of;
  char parent[VOLT_CLUSTER_PATH];
  rough_parent(a->path, parent);
  n->hash = rough_hash(n->path);
  n->parent = rough_hash(parent);
  rough_node *of = *rough_find(e, parent);
  if (of) of->made++;
  n->next = e->nodes;
  e->nodes = n;
  rough_fire_node(e, n->path, false);
}

static void rough_do(rough_ensemble *e, volt_cluster_action *a, uint64_t session) {
  rough_node **at = rough_find(e, a->path);
  switch (a->kind) {
    case VOLT_CLUSTER_CREATE: rough_create(e, a, session); break;
    case VOLT_CLUSTER_DELETE: rough_delete(e, at); break;
    case VOLT_CLUSTER_SET:
      free((*at)->data);
      (*at)->data = rough_copy(a->data, a->size);
      (*at)->size = a->size;
      (*at)->of.changed = e->transaction;
      (*at)->of.version++;
      rough_fire(e, a->path, false);
      break;
    case VOLT_CLUSTER_CHECK: break;
  }
  a->result = VOLT_OK;
}

static int rough_write(rough_ensemble *e, volt_cluster_action *actions, uint32_t count,
                       uint64_t session) {
  e->transaction++;
  for (uint32_t i = 0; i < count; i++) {
    int result = rough_may(e, actions, i);
    if (result == VOLT_OK) continue;
    for (uint32_t k = 0; k < count; k++) actions[k].result = VOLT_CLUSTER_EUNDONE;
    actions[i].result = result;
    return result;
  }
  for (uint32_t i = 0; i < count; i++) rough_do(e, &actions[i], session);
  return VOLT_OK;
}

static void rough_late_free(volt_cluster_backend *b) {
  if (!b->late) return;
  for (uint32_t i = 0; i < b->late->count; i++) free(b->late->data[i]);
  free(b->late->data);
  free(b->late->actions);
  free(b->late);
  b->late = NULL;
}

static void rough_late_do(volt_cluster_backend *b) {
  if (!b->late) return;
  (void)rough_write(b->of, b->late->actions, b->late->count, b->session);
  rough_late_free(b);
}

static void rough_late_keep(volt_cluster_backend *b, const volt_cluster_request *r, uint64_t due) {
  rough_late *late = rough_memory(sizeof *late);
  late->count = r->count;
  late->due_ns = due;
  late->actions = rough_memory(r->count * sizeof *late->actions);
  late->data = rough_memory(r->count * sizeof *late->data);
  memcpy(late->actions, r->actions, r->count * sizeof *late->actions);
  for (uint32_t i = 0; i < r->count; i++) {
    late->data[i] = rough_copy(r->actions[i].data, r->actions[i].size);
    late->actions[i].data = late->data[i];
  }
  b->late = late;
}

/* ---- sessions ---- */

static void rough_end_session(volt_cluster_backend *b) {
  rough_ensemble *e = b->of;
  rough_late_free(b);
  rough_forget(e, b);
  e->transaction++;
  for (rough_node **at = &e->nodes; *at;) {
    if (b->session != 0 && (*at)->of.owner == b->session) {
      rough_delete(e, at);
    } else {
      at = &(*at)->next;
    }
  }
  b->session = 0;
}

static void rough_expire(rough_ensemble *e, uint64_t now) {
  for (volt_cluster_backend *b = e->hosts; b; b = b->next) {
    if (b->late && b->late->due_ns <= now) rough_late_do(b);
    if (b->session == 0 || now - b->touched_ns < b->session_ns || now < b->touched_ns) continue;
    rough_end_session(b);
    b->is_expired = true;
    b->event_count = 0;
    volt_notify_one(&b->bell);
  }
}

/* ---- requests ---- */

static void rough_read(volt_cluster_backend *b, volt_cluster_request *r, rough_answer *answer) {
  rough_ensemble *e = b->of;
  rough_node *n = *rough_find(e, r->path);
  r->result = n || r->kind == VOLT_CLUSTER_TOUCH ? VOLT_OK : VOLT_CLUSTER_ENONODE;
  if (n) r->node = n->of;
  if (n && r->kind == VOLT_CLUSTER_READ) {
    r->data = answer->bytes = rough_copy(n->data, n->size);
    r->size = n->size;
  }
  if (n && r->kind == VOLT_CLUSTER_CHILDREN) {
    size_t bytes = 0, count = 0;
    uint32_t hash = rough_hash(r->path);
    for (rough_node *k = e->nodes; k; k = k->next) {
      const char *name = rough_child_of(k, r->path, hash);
      if (name) bytes += strlen(name) + 1, count++;
    }
    char *to = answer->bytes = rough_memory(bytes);
    answer->names = rough_memory(count * sizeof *answer->names);
    r->name_count = 0;
    for (rough_node *k = e->nodes; k; k = k->next) {
      const char *name = rough_child_of(k, r->path, hash);
      if (!name) continue;
      answer->names[r->name_count++] = to;
      size_t size = strlen(name) + 1;
      memcpy(to, name, size);
      to += size;
    }
    r->names = answer->names;
  }
  bool is_answered = r->result == VOLT_OK || r->kind == VOLT_CLUSTER_STAT;
  if (!r->watch || !is_answered) return;
  rough_watch *w = rough_memory(sizeof *w);
  *w = (rough_watch){
      e->watches, b,       rough_hash(r->path), rough_copy(r->path, (uint32_t)strlen(r->path)),
      r->kind,    r->watch};
  e->watches = w;
}

static void rough_carry_out(volt_cluster_backend *b, volt_cluster_request *r) {
  rough_answer *answer = r->of_backend;
  if (answer->is_done) return;
  answer->is_done = true;
  if (r->kind == VOLT_CLUSTER_WRITE) {
    rough_late_do(b); /* what the old connection had sent comes before */
    r->result = rough_write(b->of, r->actions, r->count, b->session);
  } else {
    rough_read(b, r, answer);
  }
}

static void rough_submit(volt_cluster_backend *b, volt_cluster_request *r) {
  rough_ensemble *e = b->of;
  rough_answer *answer = rough_memory(sizeof *answer);
  pthread_mutex_lock(&e->lock);
  r->of_backend = answer;
  r->next = NULL;
  r->sent_ns = volt_rt_now_ns(b->rt);
  uint64_t delay_ns = rng_below(&e->random, e->faults.delay_ns + 1);
  if (e->faults.fate) answer->fate = e->faults.fate(r, &delay_ns, e->faults.arg);
  answer->due_ns = r->sent_ns + delay_ns;
  bool is_first = b->first == NULL;
  *b->last = r;
  b->last = &r->next;
  if (b->line == ROUGH_UP && b->session) {
    b->touched_ns = r->sent_ns;
    bool is_early = is_first && r->kind == VOLT_CLUSTER_WRITE && rng_below(&e->random, 2) &&
                    answer->fate == ROUGH_ANSWER;
    if (is_early) rough_carry_out(b, r);
  }
  pthread_mutex_unlock(&e->lock);
}

static volt_cluster_request *rough_next(volt_cluster_backend *b) {
  volt_cluster_request *r = b->first;
  if (!r) return NULL;
  b->first = r->next;
  if (!b->first) b->last = &b->first;
  return r;
}

/* Not under the lock. */
static void rough_answer_it(volt_cluster_request *r) {
  rough_answer *answer = r->of_backend;
  r->done(r);
  free(answer->bytes);
  free(answer->names);
  free(answer);
}

static void rough_fail_all(volt_cluster_backend *b, int result) {
  volt_cluster_request *list = b->first;
  b->first = NULL;
  b->last = &b->first;
  while (list) {
    volt_cluster_request *r = list;
    list = r->next;
    r->result = result;
    r->names = NULL;
    r->name_count = 0;
    for (uint32_t i = 0; r->kind == VOLT_CLUSTER_WRITE && i < r->count; i++) {
      r->actions[i].result = result;
    }
    rough_answer_it(r);
  }
}

static void rough_down(volt_cluster_backend *b, uint64_t now, bool is_long) {
  rough_ensemble *e = b->of;
  uint32_t most = 3 * (e->faults.delay_ns + 1);
  b->line = ROUGH_DOWN;
  b->up_ns = now + (is_long ? b->session_ns * 3 / 2 : rng_below(&e->random, most));
}

static void rough_make_late(volt_cluster_backend *b, volt_cluster_request *r, uint64_t now) {
  bool is_done = ((rough_answer *)r->of_backend)->is_done;
  if (r->kind != VOLT_CLUSTER_WRITE || is_done || b->late) return;
  rough_late_keep(b, r, now + rng_below(&b->of->random, 6 * (b->of->faults.delay_ns + 1)));
}

/* Some of the writes under way are carried out, one possibly later; no answer arrives. */
static void rough_cut(volt_cluster_backend *b, uint64_t now) {
  rough_ensemble *e = b->of;
  rough_down(b, now, e->faults.away_1_in && rng_below(&e->random, e->faults.away_1_in) == 0);
  volt_cluster_request *r = b->first;
  for (; r && rng_below(&e->random, 3) != 0; r = r->next) {
    if (r->kind == VOLT_CLUSTER_WRITE) rough_carry_out(b, r);
  }
  if (r && rng_below(&e->random, 2)) rough_make_late(b, r, now);
}

/* The test has decided that the first request's answer is lost. */
static void rough_cut_as(volt_cluster_backend *b, uint64_t now, enum rough_fate fate) {
  volt_cluster_request *r = b->first;
  rough_down(b, now, fate == ROUGH_AWAY_BEFORE || fate == ROUGH_AWAY_AFTER);
  if (fate == ROUGH_CUT_AFTER || fate == ROUGH_AWAY_AFTER) {
    if (r->kind == VOLT_CLUSTER_WRITE) rough_carry_out(b, r);
  } else if (fate == ROUGH_CUT_LATE) {
    rough_make_late(b, r, now);
    if (b->late) b->late->due_ns = b->up_ns + 5 * (b->of->faults.delay_ns + 1);
  }
}

/* ---- the interface ---- */

static int rough_open(volt_cluster_backend **out, const volt_cluster_config *config,
                      const volt_cluster_client *client) {
  rough_ensemble *e = config->of_kind;
  volt_cluster_backend *b = rough_memory(sizeof *b);
  b->of = e;
  b->client = *client;
  b->rt = config->rt;
  b->session_ns = config->session_ns ? config->session_ns : UINT64_C(10000000000);
  b->last = &b->first;
  volt_notify_init(&b->bell);
  pthread_mutex_lock(&e->lock);
  b->next = e->hosts;
  e->hosts = b;
  pthread_mutex_unlock(&e->lock);
  *out = b;
  return VOLT_OK;
}

static void rough_connect(volt_cluster_backend *b) {
  pthread_mutex_lock(&b->of->lock);
  rough_check(b->session == 0, "connect() with a session");
  b->line = ROUGH_DOWN;
  b->is_new = true;
  b->up_ns = volt_rt_now_ns(b->rt) + rng_below(&b->of->random, b->of->faults.delay_ns + 1);
  pthread_mutex_unlock(&b->of->lock);
}

static uint64_t rough_due(volt_cluster_backend *b) {
  if (b->is_expired) return b->up_ns;
  if (b->line == ROUGH_DOWN) {
    /* what was submitted meanwhile fails at once */
    return b->first ? 0 : b->up_ns;
  }
  if (b->line != ROUGH_UP) return b->first ? 0 : VOLT_NO_DEADLINE;
  if (b->event_count) return 0;
  return b->first ? ((rough_answer *)b->first->of_backend)->due_ns : VOLT_NO_DEADLINE;
}

static volt_future *rough_wait(volt_cluster_backend *b, uint64_t until_ns) {
  pthread_mutex_lock(&b->of->lock);
  uint64_t due = rough_due(b);
  pthread_mutex_unlock(&b->of->lock);
  if (due < until_ns) until_ns = due;
  b->either[0] = volt_notify_wait_future(&b->rung, &b->bell);
  b->either[1] = volt_sleep_future(&b->sleep, volt_rt_timers(b->rt), until_ns);
  return volt_select_future(&b->select, b->either, 2, VOLT_SELECT_BIASED);
}

static void rough_tell(volt_cluster_backend *b, enum volt_cluster_session_event event,
                       uint64_t since_ns) {
  b->client.on_session(b->client.ctx, event, b->session, b->session_ns, since_ns);
}

/* The line comes up: a new session, or the old one, or none any more. */
static void rough_up(volt_cluster_backend *b, uint64_t now) {
  b->line = ROUGH_UP;
  b->touched_ns = now;
  enum volt_cluster_session_event event = VOLT_CLUSTER_SESSION_AGAIN;
  if (b->is_new) {
    b->session = ++b->of->sessions;
    b->is_new = false;
    b->event_count = 0;
    event = VOLT_CLUSTER_SESSION_NEW;
  }
  pthread_mutex_unlock(&b->of->lock);
  rough_tell(b, event, now);
  pthread_mutex_lock(&b->of->lock);
}

static void rough_answers(volt_cluster_backend *b, uint64_t now) {
  rough_ensemble *e = b->of;
  while (b->line == ROUGH_UP && b->event_count) {
    uint32_t event = b->events[--b->event_count];
    pthread_mutex_unlock(&e->lock);
    b->client.on_event(b->client.ctx, event);
    pthread_mutex_lock(&e->lock);
  }
  while (b->line == ROUGH_UP && b->first && !b->is_expired &&
         ((rough_answer *)b->first->of_backend)->due_ns <= now) {
    enum rough_fate fate = ((rough_answer *)b->first->of_backend)->fate;
    if (fate != ROUGH_ANSWER ||
        (e->faults.cut_1_in && rng_below(&e->random, e->faults.cut_1_in) == 0)) {
      if (fate != ROUGH_ANSWER) {
        rough_cut_as(b, now, fate);
      } else {
        rough_cut(b, now);
      }
      pthread_mutex_unlock(&e->lock);
      rough_fail_all(b, VOLT_CLUSTER_EAWAY);
      rough_tell(b, VOLT_CLUSTER_SESSION_AWAY, 0);
      pthread_mutex_lock(&e->lock);
      return;
    }
    rough_carry_out(b, b->first);
    volt_cluster_request *r = rough_next(b);
    pthread_mutex_unlock(&e->lock);
    rough_answer_it(r);
    pthread_mutex_lock(&e->lock);
  }
}

static void rough_process(volt_cluster_backend *b) {
  rough_ensemble *e = b->of;
  uint64_t now = volt_rt_now_ns(b->rt);
  pthread_mutex_lock(&e->lock);
  rough_expire(e, now);
  if (b->line == ROUGH_DOWN && now >= b->up_ns && !b->is_expired) rough_up(b, now);
  rough_answers(b, now);
  bool is_expired = b->is_expired && b->line != ROUGH_ENDED && now >= b->up_ns;
  if (is_expired) b->line = ROUGH_NEVER, b->is_expired = false;
  bool is_deaf = b->line != ROUGH_UP;
  pthread_mutex_unlock(&e->lock);
  if (is_deaf) rough_fail_all(b, is_expired ? VOLT_CLUSTER_EEXPIRED : VOLT_CLUSTER_EAWAY);
  if (is_expired) rough_tell(b, VOLT_CLUSTER_SESSION_EXPIRED, 0);
}

static uint64_t rough_now(const volt_cluster_backend *b) {
  return volt_rt_now_ns(b->rt);
}

static volt_future *rough_close(volt_cluster_backend *b) {
  pthread_mutex_lock(&b->of->lock);
  rough_end_session(b);
  b->line = ROUGH_ENDED;
  uint64_t until = volt_rt_now_ns(b->rt) + rng_below(&b->of->random, b->of->faults.delay_ns + 1);
  pthread_mutex_unlock(&b->of->lock);
  rough_fail_all(b, VOLT_CLUSTER_EAWAY);
  return volt_sleep_future(&b->sleep, volt_rt_timers(b->rt), until);
}

static void rough_destroy(volt_cluster_backend *b) {
  rough_check(b->first == NULL, "a request is outstanding");
  pthread_mutex_lock(&b->of->lock);
  rough_end_session(b);
  volt_cluster_backend **at = &b->of->hosts;
  while (*at != b) at = &(*at)->next;
  *at = b->next;
  pthread_mutex_unlock(&b->of->lock);
  volt_notify_destroy(&b->bell);
  free(b->events);
  free(b);
}

static const volt_cluster_kind rough_kind = {
    .name = "rough",
    .open = rough_open,
    .connect = rough_connect,
    .submit = rough_submit,
    .wait_future = rough_wait,
    .process = rough_process,
    .now_ns = rough_now,
    .close_future = rough_close,
    .destroy = rough_destroy,
};

/* For volt_cluster_config.kind; its of_kind is the rough_ensemble. */
static inline const volt_cluster_kind *rough_ensemble_kind(void) {
  return &rough_kind;
}

/* ---- for the test ---- */

static inline rough_ensemble *rough_ensemble_new(const rough_faults *faults, uint64_t seed) {
  rough_ensemble *e = rough_memory(sizeof *e);
  pthread_mutex_init(&e->lock, NULL);
  e->faults = *faults;
  e->random = rng_seeded(seed);
  e->transaction = 100;
  return e;
}

/* Aborts if a host is left. */
static inline void rough_ensemble_free(rough_ensemble *e) {
  rough_check(e->hosts == NULL, "a host is left");
  while (e->nodes) rough_delete(e, &e->nodes);
  rough_check(e->watches == NULL, "a watch is left");
  pthread_mutex_destroy(&e->lock);
  free(e);
}

/* How many nodes are below path. */
static inline unsigned rough_ensemble_count(rough_ensemble *e, const char *path) {
  pthread_mutex_lock(&e->lock);
  unsigned count = rough_count_children(e, path);
  pthread_mutex_unlock(&e->lock);
  return count;
}

/* Transactions so far. */
static inline uint64_t rough_ensemble_writes(rough_ensemble *e) {
  pthread_mutex_lock(&e->lock);
  uint64_t writes = e->transaction;
  pthread_mutex_unlock(&e->lock);
  return writes;
}

#endif
