/* site.c: a gate with its listeners and its sessions. */
#define _GNU_SOURCE /* strdup */
#include "program/site.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <volt/time.h>

#include "cluster/cluster.h"
#include "process/log.h"
#include "program/program.h"
#include "session/acceptor.h"

/* ---- listeners ---- */

static void site_free_listener(struct listener *l) {
  listener_close(l);
  free(l);
}

void listener_set_close(struct listener_set *set) {
  for (size_t i = 0; i < set->count; i++) site_free_listener(set->all[i]);
  free(set->all);
  *set = (struct listener_set){0};
}

/* Whether a listener is the one of that address: as it was configured, or as it is. */
static bool site_listens(const struct listener *l, const char *text) {
  return strcmp(l->text, text) == 0 || strcmp(l->address, text) == 0;
}

static bool site_has(const struct site *s, const char *text) {
  for (size_t i = 0; s && i < s->listener_count; i++) {
    if (site_listens(s->listeners[i], text)) return true;
  }
  return false;
}

static bool site_is_named(const struct gate_settings *settings, const struct listener *l) {
  for (size_t i = 0; i < settings->listen_count; i++) {
    if (site_listens(l, settings->listen[i])) return true;
  }
  return false;
}

char *site_open(struct listener_set *out, volt_rt *rt, const struct gate_settings *settings,
                const struct site *kept, struct inheritance *from) {
  *out = (struct listener_set){0};
  out->all = (struct listener **)calloc(settings->listen_count + 1, sizeof *out->all);
  char *wrong = out->all ? NULL : strdup("there is no memory");
  for (size_t i = 0; !wrong && i < settings->listen_count; i++) {
    if (site_has(kept, settings->listen[i])) continue;
    struct listener *l = (struct listener *)calloc(1, sizeof *l);
    wrong = l ? listener_open(l, rt, settings->name, settings->listen[i], from)
              : strdup("there is no memory");
    if (wrong) {
      free(l);
    } else {
      out->all[out->count++] = l;
    }
  }
  if (wrong) listener_set_close(out);
  return wrong;
}

/* ---- life ---- */

struct site *site_new(struct program *p, const struct gate_settings *settings,
                      struct listener_set *set, struct certificates *certificates) {
  struct site *s = (struct site *)aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
  if (!s) return NULL;
  memset(s, 0, sizeof *s);
  if (!gate_init(&s->gate, &p->host, p->rt, settings)) {
    free(s);
    return NULL;
  }
  if (p->cluster && !gate_lease_from(&s->gate, gate_cluster_lessor(p->cluster))) {
    gate_end_leases(&s->gate);
    gate_destroy(&s->gate);
    free(s);
    return NULL;
  }
  s->program = p;
  volt_group_init_how(&s->sessions, VOLT_GROUP_KEEP_GOING);
  volt_group_init_how(&s->acceptors, VOLT_GROUP_KEEP_GOING);
  gate_set_certificates(&s->gate, certificates);
  s->listeners = set->all;
  s->listener_count = set->count;
  *set = (struct listener_set){0};
  return s;
}

void site_free(struct site *s) {
  struct listener_set set = {s->listeners, s->listener_count};
  listener_set_close(&set);
  gate_end_leases(&s->gate);
  gate_destroy(&s->gate);
  volt_group_destroy(&s->sessions);
  volt_group_destroy(&s->acceptors);
  free(s);
}

/* ---- accept ---- */

static int site_accept_at(struct site *s, struct listener *l) {
  volt_fd fd;
  int result = volt_fd_init(&fd, s->gate.rt, l->number, 0);
  if (result != VOLT_OK) return result;
  struct acceptor *a = acceptor_new(&s->gate, &s->sessions, &fd);
  if (!a) {
    (void)volt_fd_detach(&fd);
    return VOLT_ENOMEM;
  }
  l->is_accepting = true;
  l->is_lent = false;
  result = volt_group_spawn_member(&s->acceptors, s->gate.rt, &a->task, &l->acceptor);
  if (result == VOLT_OK) {
    log_notice(s->gate.name, "listening on %s", l->address);
  } else {
    acceptor_drop(a);
    l->number = -1;
  }
  return result;
}

int site_accept(struct site *s) {
  int result = VOLT_OK;
  s->is_paused = false;
  for (size_t i = 0; i < s->listener_count && result == VOLT_OK; i++) {
    if (!s->listeners[i]->is_accepting) result = site_accept_at(s, s->listeners[i]);
  }
  return result;
}

static void site_close_listener(struct listener *l) {
  if (l->is_accepting) {
    (void)volt_group_member_cancel(&l->acceptor); /* it closes the socket */
    volt_group_member_drop(&l->acceptor);
  }
  site_free_listener(l);
}

/* Replace the list. Returns the one before, which is the caller's. */
static struct listener **site_swap(struct site *s, struct listener **listeners, size_t count) {
  pthread_mutex_lock(&s->program->lock);
  struct listener **before = s->listeners;
  s->listeners = listeners;
  s->listener_count = count;
  pthread_mutex_unlock(&s->program->lock);
  return before;
}

int site_rebind(struct site *s, const struct gate_settings *settings, struct listener_set *opened) {
  size_t before_count = s->listener_count;
  size_t room = before_count + opened->count + 1;
  struct listener **listeners = (struct listener **)calloc(room, sizeof *listeners);
  if (!listeners) return VOLT_ENOMEM;
  size_t count = 0;
  for (size_t i = 0; i < before_count; i++) {
    struct listener *l = s->listeners[i];
    if (site_is_named(settings, l)) listeners[count++] = l;
  }
  for (size_t i = 0; i < opened->count; i++) listeners[count++] = opened->all[i];
  opened->count = 0;
  listener_set_close(opened);
  struct listener **before = site_swap(s, listeners, count);
  for (size_t i = 0; i < before_count; i++) {
    if (!site_is_named(settings, before[i])) site_close_listener(before[i]);
  }
  free(before);
  return s->is_paused ? VOLT_OK : site_accept(s);
}

bool site_can_pause(struct site *s) {
  int *numbers = (int *)malloc((s->listener_count + 1) * sizeof *numbers);
  size_t count = 0;
  for (; numbers && count < s->listener_count; count++) {
    numbers[count] = fcntl(s->listeners[count]->number, F_DUPFD_CLOEXEC, 0);
    if (numbers[count] < 0) break;
  }
  bool can = numbers && count == s->listener_count;
  while (count > 0) close(numbers[--count]);
  free(numbers);
  return can;
}

/* The socket stays open, if there is a descriptor for that. */
static void site_pause_listener(struct listener *l) {
  l->is_lent = true;
  if (!l->is_accepting) return;
  int number = fcntl(l->number, F_DUPFD_CLOEXEC, 0);
  (void)volt_group_member_cancel(&l->acceptor); /* it closes its own */
  volt_group_member_drop(&l->acceptor);
  l->is_accepting = false;
  l->number = number;
}

void site_pause(struct site *s, site_is_kept *is_kept, void *arg) {
  struct listener **closed = (struct listener **)calloc(s->listener_count + 1, sizeof *closed);
  size_t kept_count = 0, closed_count = 0;
  s->is_paused = true;
  pthread_mutex_lock(&s->program->lock); /* others look at the list */
  for (size_t i = 0; i < s->listener_count; i++) {
    struct listener *l = s->listeners[i];
    if (closed && !is_kept(arg, s, l)) {
      l->is_lent = false; /* no other process listens there */
      closed[closed_count++] = l;
    } else {
      site_pause_listener(l);
      s->listeners[kept_count++] = l;
    }
  }
  s->listener_count = kept_count;
  pthread_mutex_unlock(&s->program->lock);
  for (size_t i = 0; i < closed_count; i++) site_close_listener(closed[i]);
  free(closed);
}

/* ---- the end ---- */

struct site_end {
  volt_task task; /* first */
  struct site *site;
  volt_future all;
  volt_timeout timeout;
  int result;
};

static volt_future *site_end_wait(struct site_end *self) {
  struct gate *gate = &self->site->gate;
  uint64_t timeout_ns = gate_settings(gate)->drain_timeout_ns;
  return volt_timeout_future(&self->timeout,
                             volt_group_wait_future(&self->all, &self->site->sessions),
                             volt_rt_timers(gate->rt),
                             timeout_ns ? volt_rt_now_ns(gate->rt) + timeout_ns : VOLT_NO_DEADLINE);
}

static void site_is_over(struct site_end *self) {
  struct site *s = self->site;
  log_line(LOG_INFO, s->gate.name, "%s",
           self->result == VOLT_OK ? "drained" : "drained: clients that were left were cut off");
  gate_end_leases(&s->gate);
  volt_group_cancel(&s->gate.probes); /* no client waits for the server any more */
  pthread_mutex_lock(&s->program->lock);
  s->is_over = true;
  pthread_mutex_unlock(&s->program->lock);
}

/* A wait for a group that is given up by a timeout cancels the group, and is ready when all of it
 * has ended. */
static int site_end_poll(volt_task *t, volt_ctx *ctx) {
  struct site_end *self = volt_container_of(t, struct site_end, task);
  VOLT_TASK_BEGIN(self);
  VOLT_AWAIT_RESULT(self, self->result, volt_group_wait_future(&self->all, &self->site->acceptors));
  VOLT_AWAIT_RESULT(self, self->result, site_end_wait(self));
  site_is_over(self);
  VOLT_TASK_END(self);
}

void site_end(struct site *s) {
  if (s->is_ending) return;
  s->is_ending = true;
  log_line(LOG_INFO, s->gate.name, "drains");
  struct listener **before = s->listeners;
  size_t count = s->listener_count;
  (void)site_swap(s, NULL, 0);
  for (size_t i = 0; i < count; i++) site_close_listener(before[i]);
  free(before);
  /* release: a thread that finds it draining sees that it accepts no more */
  atomic_store_explicit(&s->gate.is_draining, true, memory_order_release);
  gate_tell(&s->gate);
  struct site_end *end = VOLT_TASK_NEW(s->gate.rt, struct site_end, site_end_poll);
  if (end) end->site = s;
  if (volt_group_spawn(&s->program->ends, s->gate.rt, end ? &end->task : NULL) == VOLT_OK) return;
  if (end) volt_task_detach(&end->task);
  site_stop(s); /* no memory to wait: end them now */
}

void site_stop(struct site *s) {
  volt_group_cancel(&s->sessions);
  gate_tell(&s->gate);
}
