/* server.c: the life of the admin side: it listens, accepts, samples the gates, and stops. */
#define _GNU_SOURCE
#include "admin/server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/time.h>

#include "program/budget.h"

#define SECOND UINT64_C(1000000000)

/* ---- accepting ---- */

struct accepting {
  volt_task task;
  volt_op op;
  volt_future place;
  volt_accept_pause pause;
  struct admin *admin;
  struct connection *next; /* that will be accepted, or was, and has no place yet */
  int result;
};

static void admin_give_up_next(struct accepting *self) {
  if (self->next == NULL) return;
  volt_fd_close(connection_fd(self->next)); /* if it was accepted */
  volt_task_detach(connection_task(self->next));
  self->next = NULL;
}

/* The client has a place: p->free was acquired. */
static void admin_begin(struct accepting *self) {
  struct admin *admin = self->admin;
  struct place *place = places_take(&admin->places);
  volt_fd_nodelay(connection_fd(self->next));
  connection_begin(self->next, place);
  if (volt_group_spawn_member(&admin->connections, admin->program->rt, connection_task(self->next),
                              &place->member) == VOLT_OK) {
    self->next = NULL;
    return;
  }
  place_leave(&admin->places, place); /* the runtime ends */
  admin_give_up_next(self);
}

/* A client is accepted before it has a place: so it is known that one is wanted. */
static int admin_accepting_poll(volt_task *t, volt_ctx *ctx) {
  struct accepting *self = volt_container_of(t, struct accepting, task);
  VOLT_TASK_BEGIN(self);
  for (;;) {
    if (self->next == NULL) self->next = connection_new(self->admin);
    self->result = VOLT_ERRNO(ENOMEM);
    if (self->next != NULL) {
      VOLT_AWAIT_RESULT(
          self, self->result,
          volt_fd_accept_future(&self->op, &self->admin->listener, connection_fd(self->next)));
    }
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_OK);
    if (self->result == VOLT_OK) {
      places_make_room(&self->admin->places);
      VOLT_AWAIT(self, volt_sem_acquire_future(&self->place, &self->admin->places.free, 1));
      admin_begin(self);
    } else {
      VOLT_AWAIT(self,
                 volt_accept_pause_future(&self->pause, self->admin->program->rt, self->result));
    }
  }
  VOLT_FINALLY(self);
  admin_give_up_next(self);
  volt_fd_close(&self->admin->listener);
  VOLT_TASK_END(self);
}

/* ---- a sample of the gates, once a second ---- */

struct sampling {
  volt_task task;
  volt_blocking call;
  volt_interval interval;
  struct admin *admin;
};

static int admin_sample(void *arg) {
  struct admin *admin = arg;
  history_sample(&admin->answers.history, admin->program, volt_rt_now_ns(admin->program->rt));
  return VOLT_OK;
}

static int admin_sampling_poll(volt_task *t, volt_ctx *ctx) {
  struct sampling *self = volt_container_of(t, struct sampling, task);
  VOLT_TASK_BEGIN(self);
  volt_interval_init(&self->interval, self->admin->timers, volt_rt_now_ns(self->admin->program->rt),
                     SECOND, VOLT_INTERVAL_SKIP);
  for (;;) {
    VOLT_AWAIT(self, volt_interval_tick_future(&self->interval));
    VOLT_AWAIT(self, volt_blocking_future(&self->call, self->admin->program->rt, admin_sample,
                                          self->admin));
  }
  VOLT_TASK_END(self);
}

/* ---- start ---- */

/* A unix socket's path is removed in the end. */
static int admin_note_path(struct admin *admin, const volt_address *at) {
  if (at->as.any.sa_family != AF_UNIX) return VOLT_OK;
  if (at->as.local.sun_path[0] == '\0') return VOLT_OK; /* no path, but an abstract name */
  admin->path = strdup(at->as.local.sun_path);
  return admin->path != NULL ? VOLT_OK : VOLT_ENOMEM;
}

static int admin_listen_at(struct admin *admin, const volt_address *at) {
  return volt_listen(&admin->listener, admin->program->rt, at, 0, VOLT_LISTEN_REPLACE_UNIX);
}

/* A name with a port is looked up, and is one of ours then. */
static int admin_find_address(struct admin *admin, const char *text, volt_address *at) {
  int result = volt_address_parse(at, text);
  if (result != VOLT_EINVAL) return result;
  volt_resolve *lookup = calloc(1, sizeof *lookup);
  if (lookup == NULL) return VOLT_ENOMEM;
  result = volt_future_wait_until(volt_resolve_future(lookup, admin->program->rt, text),
                                  volt_deadline_s(5));
  if (result == VOLT_OK) {
    const char *colon = strrchr(text, ':');
    size_t size = (size_t)(colon - text);
    *at = lookup->addresses[0];
    if (size < sizeof admin->answers.own_name) memcpy(admin->answers.own_name, text, size);
  }
  volt_resolve_free(lookup);
  free(lookup);
  return result;
}

static int admin_start_listening(struct admin *admin, const char *address, int number) {
  volt_address at;
  int result;
  if (number >= 0) {
    result = volt_fd_init(&admin->listener, admin->program->rt, number, 0);
  } else {
    result = admin_find_address(admin, address, &at);
    if (result == VOLT_OK) result = admin_listen_at(admin, &at);
  }
  if (result != VOLT_OK) return result;
  result = volt_fd_local(&admin->listener, &at);
  if (result != VOLT_OK) return result;
  volt_address_text(&at, admin->address);
  return admin_note_path(admin, &at);
}

static int admin_start_tasks(struct admin *admin) {
  volt_rt *rt = admin->program->rt;
  admin->accepting = VOLT_TASK_NEW(rt, struct accepting, admin_accepting_poll);
  admin->sampling = VOLT_TASK_NEW(rt, struct sampling, admin_sampling_poll);
  int result = VOLT_ENOMEM;
  if (admin->accepting != NULL && admin->sampling != NULL) {
    admin->accepting->admin = admin->sampling->admin = admin;
    result = volt_spawn(rt, &admin->sampling->task);
  }
  if (result == VOLT_OK) {
    result = volt_spawn(rt, &admin->accepting->task);
    if (result == VOLT_OK) return VOLT_OK;
    volt_task_cancel(&admin->sampling->task);
    volt_task_join(&admin->sampling->task);
  }
  if (admin->accepting != NULL) volt_task_detach(&admin->accepting->task);
  if (admin->sampling != NULL) volt_task_detach(&admin->sampling->task);
  return result;
}

static void admin_destroy(struct admin *admin) {
  if (admin->path != NULL && !admin->is_passed_on) unlink(admin->path);
  free(admin->path);
  admin_answers_destroy(&admin->answers);
  volt_group_destroy(&admin->connections);
  places_destroy(&admin->places);
  free(admin);
}

int admin_start(struct admin **out, struct program *p, const char *address, int number) {
  struct admin *admin = *out = calloc(1, sizeof *admin);
  if (admin == NULL) return VOLT_ENOMEM;
  admin->program = p;
  admin->timers = volt_rt_timers(p->rt);
  places_init(&admin->places, fd_budget_admin(p->descriptors_all));
  volt_group_init_how(&admin->connections, VOLT_GROUP_KEEP_GOING);
  admin_answers_init(&admin->answers, p);
  int result = admin_start_listening(admin, address, number);
  if (result == VOLT_OK) result = admin_start_tasks(admin);
  if (result == VOLT_OK) return VOLT_OK;
  if (number >= 0 && volt_fd_number(&admin->listener) == number) {
    volt_fd_detach(&admin->listener); /* it stays the caller's */
  } else {
    volt_fd_close(&admin->listener);
  }
  admin_destroy(admin);
  *out = NULL;
  return result;
}

const char *admin_address(const struct admin *a) {
  return a->address;
}

void admin_keep_path(struct admin *a, bool keeps) {
  a->is_passed_on = keeps;
}

int admin_number(const struct admin *a) {
  return volt_fd_number(&a->listener);
}

/* ---- stop ---- */

void admin_stop(struct admin *a) {
  if (a == NULL) return;
  volt_task_cancel(&a->accepting->task);
  volt_task_cancel(&a->sampling->task);
  volt_task_join(&a->accepting->task);
  volt_task_join(&a->sampling->task);
  volt_task_detach(&a->accepting->task);
  volt_task_detach(&a->sampling->task);
  volt_group_cancel(&a->connections);
  volt_group_wait(&a->connections);
  admin_destroy(a);
}
