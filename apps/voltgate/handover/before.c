/* before.c: this process takes over from the one before it. */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "admin/admin.h"
#include "config/command.h"
#include "handover/state.h"
#include "process/log.h"
#include "program/site.h"

enum { BEFORE_OFFER_MS = 10000, BEFORE_GO_MS = 30000 };

static char *before_words(const char *path, const char *why) {
  char *words = NULL;
  if (asprintf(&words, "take-over %s: %s", path, why) < 0) return strdup(why);
  return words;
}

/* ---- its listeners ---- */

/* Returns 0, or an errno. */
static int before_connect(int *number, const char *path) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof at.sun_path) return ENAMETOOLONG;
  memcpy(at.sun_path, path, strlen(path));
  *number = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (*number < 0) return errno;
  if (connect(*number, (const struct sockaddr *)&at, sizeof at) == 0) return 0;
  int error = errno;
  close(*number);
  return error;
}

static pid_t before_peer(int number) {
  struct ucred peer = {0};
  socklen_t size = sizeof peer;
  (void)getsockopt(number, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer.pid;
}

static bool before_take_offer(struct handover *h, const struct message *m) {
  int number = channel_take_number(&h->before);
  if (number < 0) return false;
  if (offers_add(&h->offered, (enum message_listener)m->number, m->name, m->text, number)) {
    return true;
  }
  close(number);
  return false;
}

/* Read what it offers. Returns CHANNEL_MESSAGE: that was all. */
static enum channel_result before_read_offers(struct handover *h, char **refused) {
  struct message m;
  /* if that fails, it has refused us, and its words are there, or it has ended */
  (void)channel_send(&h->before, MESSAGE_HELLO, MESSAGE_VERSION, NULL, VOLTGATE_VERSION);
  for (;;) {
    enum channel_result result = channel_await(&h->before, &m, BEFORE_OFFER_MS);
    if (result != CHANNEL_MESSAGE) return result;
    if (m.kind == MESSAGE_OFFERED && m.number == h->offered.count) return CHANNEL_MESSAGE;
    if (m.kind == MESSAGE_REFUSED) *refused = strdup(m.text);
    bool is_known = m.kind == MESSAGE_LISTENER  ? before_take_offer(h, &m)
                    : m.kind == MESSAGE_ADDRESS ? offers_locate(&h->offered, m.text)
                                                : false;
    if (!is_known) return CHANNEL_WRONG;
  }
}

static bool before_inherit(struct handover *h, struct inheritance *to) {
  h->inherited = (struct inherited *)calloc(h->offered.count + 1, sizeof *h->inherited);
  if (!h->inherited) return false;
  for (size_t i = 0; i < h->offered.count; i++) {
    struct offer *offer = &h->offered.all[i];
    bool is_of_gate = offer->of == MESSAGE_OF_GATE;
    h->inherited[i] = (struct inherited){.gate = offer->gate,
                                         .text = offer->text,
                                         .address = offer->address ? offer->address : offer->text,
                                         .number = is_of_gate ? offer->number : -1};
  }
  to->sockets = h->inherited;
  to->count = h->offered.count;
  return true;
}

char *handover_take(struct handover *h, const char *path, struct inheritance *to) {
  int number;
  char *refused = NULL;
  int error = before_connect(&number, path);
  if (error == ENOENT || error == ECONNREFUSED) {
    log_notice(NULL, "nobody hands over at %s: listeners are opened", path);
    return NULL;
  }
  if (error) return before_words(path, strerror(error));
  channel_open(&h->before, number, -1);
  h->before.timeout_ms = BEFORE_OFFER_MS;
  h->before_pid = before_peer(number);
  enum channel_result result = before_read_offers(h, &refused);
  if (result == CHANNEL_MESSAGE && before_inherit(h, to)) return NULL;
  channel_close(&h->before);
  offers_clear(&h->offered);
  if (result == CHANNEL_ENDED && !refused) {
    log_notice(NULL, "process %ld has ended: listeners are opened", (long)h->before_pid);
    return NULL;
  }
  char *words = before_words(path, refused ? refused : "the process there does not answer");
  free(refused);
  return words;
}

static struct offer *before_find(struct handover *h, enum message_listener of, const char *text) {
  for (size_t i = 0; text && i < h->offered.count; i++) {
    struct offer *offer = &h->offered.all[i];
    bool is_there =
        strcmp(offer->text, text) == 0 || (offer->address && strcmp(offer->address, text) == 0);
    if (offer->of == of && offer->number >= 0 && is_there) return offer;
  }
  return NULL;
}

int handover_take_admin(struct handover *h, const char *address) {
  const struct offer *offer = before_find(h, MESSAGE_OF_ADMIN, address);
  return offer ? offer->number : -1;
}

void handover_keep_admin(struct handover *h) {
  for (size_t i = 0; i < h->offered.count; i++) {
    if (h->offered.all[i].of == MESSAGE_OF_ADMIN) h->offered.all[i].number = -1;
  }
}

/* ---- where a successor comes ---- */

static int before_try_bind(int number, const char *path) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  memcpy(at.sun_path, path, strlen(path));
  return bind(number, (const struct sockaddr *)&at, sizeof at) == 0 ? 0 : errno;
}

/* Returns 0, or an errno. A path at which no process listens is removed first. */
static int before_bind(struct handover *h, const char *path) {
  int other;
  if (strlen(path) >= sizeof((struct sockaddr_un){0}).sun_path) return ENAMETOOLONG;
  h->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (h->listener < 0) return errno;
  int error = before_try_bind(h->listener, path);
  if (error != EADDRINUSE) return error;
  int reached = before_connect(&other, path);
  if (reached == 0) close(other);
  if (reached != ECONNREFUSED) return EADDRINUSE;
  unlink(path);
  return before_try_bind(h->listener, path);
}

char *handover_listen(struct handover *h, const char *path) {
  struct offer *offer = before_find(h, MESSAGE_OF_HANDOVER, path);
  char *words = NULL;
  h->path = strdup(path);
  if (!h->path) return strdup("there is no memory");
  if (offer) {
    h->listener = offer->number;
    h->is_passed_on = true; /* it is the other's, until that has said GO */
    offer->number = -1;
    return NULL;
  }
  mode_t before = umask(0177); /* 0600 */
  int error = before_bind(h, path);
  umask(before);
  if (!error && listen(h->listener, SOMAXCONN) != 0) error = errno;
  if (!error) return NULL;
  free(h->path);
  h->path = NULL;
  if (asprintf(&words, "handover %s: %s", path, strerror(error)) < 0) words = NULL;
  return words ? words : strdup("there is no memory");
}

/* ---- it accepts no more ---- */

static bool before_say_ready(struct handover *h) {
  bool is_said = true;
  for (size_t i = 0; i < h->offered.count; i++) {
    const struct offer *offer = &h->offered.all[i];
    int number = offer->of == MESSAGE_OF_GATE ? h->inherited[i].number : offer->number;
    if (number < 0) is_said &= channel_send(&h->before, MESSAGE_TAKES, (uint32_t)i, NULL, NULL);
  }
  for (struct site *s = h->program->first; s; s = s->next) {
    uint32_t limit = gate_lease(&s->gate) ? 0 : volt_sem_limit(&s->gate.permits);
    enum message_kind kind = s->gate.broker ? MESSAGE_PERMIT_GATE : MESSAGE_GATE;
    is_said &= channel_send(&h->before, kind, limit, s->gate.name, NULL);
  }
  return is_said && channel_send(&h->before, MESSAGE_READY, 0, NULL, NULL);
}

static struct keeper *before_keeper(struct handover *h, const char *name) {
  for (struct kept *k = h->kept; k; k = k->next) {
    if (strcmp(k->keeper.gate->name, name) == 0) return &k->keeper;
  }
  return NULL;
}

static bool before_keep(struct handover *h, const struct message *m) {
  struct gate *gate = program_gate(h->program, m->name);
  if (gate && m->number == 0) return true; /* it lends none */
  struct kept *k =
      gate && !gate_lease(gate) && m->number <= VOLT_SEM_MAX / 2 && !before_keeper(h, m->name)
          ? (struct kept *)calloc(1, sizeof *k)
          : NULL;
  if (!k) return false;
  keeper_begin(&k->keeper, gate, m->number, handover_tell(h));
  k->next = h->kept;
  h->kept = k;
  return true;
}

/* Permits that it may have are given to it. Returns false: it does not hear. */
static bool before_give(struct handover *h, struct keeper *k) {
  uint32_t permits = keeper_look(k);
  return permits == 0 || channel_send(&h->before, MESSAGE_GIVE, permits, k->gate->name, NULL);
}

/* Returns false: it makes no sense. */
static bool before_hear(struct handover *h, const struct message *m) {
  struct keeper *k = before_keeper(h, m->name);
  if (m->kind == MESSAGE_PERMITS) return before_keep(h, m);
  if (!k || m->number > VOLT_SEM_MAX / 2) return false;
  switch (m->kind) {
    case MESSAGE_GIVE: return keeper_given(k, m->number);
    case MESSAGE_WANT: return keeper_want_each(k, m->number);
    case MESSAGE_WANT_TOGETHER: return keeper_want_together(k, m->number);
    case MESSAGE_WANT_NOT: keeper_want_not(k, m->number); return true;
    default: return false;
  }
}

static char *before_await_go(struct handover *h) {
  struct message m;
  for (;;) {
    enum channel_result result = channel_await(&h->before, &m, BEFORE_GO_MS);
    if (result == CHANNEL_ENDED) { /* it is dead, and its listeners are ours alone */
      log_line(LOG_WARN, NULL, "process %ld has ended before it had handed over",
               (long)h->before_pid);
      before_end(h);
      before_adopt_claims(h);
      return NULL;
    }
    if (result == CHANNEL_NOTHING) return strdup("the process before does not answer");
    if (result != CHANNEL_MESSAGE) return strdup("what the process before says makes no sense");
    if (m.kind == MESSAGE_REFUSED) return strdup(m.text);
    if (m.kind == MESSAGE_GO) return NULL;
    if (before_adopt_hear(h, &m) || (!h->adopt_why && before_hear(h, &m))) continue;
    return strdup(h->adopt_why ? h->adopt_why : "what the process before says makes no sense");
  }
}

void before_forget_offers(struct handover *h) {
  for (size_t i = 0; h->inherited && i < h->offered.count; i++) {
    struct offer *offer = &h->offered.all[i];
    if (offer->of == MESSAGE_OF_GATE) offer->number = h->inherited[i].number; /* -1: in use */
  }
  offers_clear(&h->offered);
  free(h->inherited);
  h->inherited = NULL;
}

/* No other process listens there any more. */
static void before_own_paths(struct handover *h) {
  h->is_passed_on = false;
  if (h->program->admin) admin_keep_path(h->program->admin, false);
}

char *handover_begin(struct handover *h) {
  if (!channel_is_open(&h->before)) return NULL;
  h->before.timeout_ms = -1;
  if (!before_say_ready(h)) { /* before_await_go() says why: what it has said before may be there */
    log_line(LOG_WARN, NULL, "process %ld does not hear", (long)h->before_pid);
  }
  char *wrong = before_await_go(h);
  before_forget_offers(h);
  bool is_ours = !wrong && channel_is_open(&h->before);
  before_adopt_end(h, is_ours);
  if (!wrong) before_own_paths(h);
  if (!is_ours) return wrong;
  handover_set_state(h, HANDOVER_TAKES);
  log_notice(NULL, "taken over from process %ld", (long)h->before_pid);
  return NULL;
}

/* ---- while it has clients ---- */

void before_leave(struct handover *h) {
  if (h->has_left || !channel_is_open(&h->before)) return;
  h->has_left = true;
  (void)channel_send(&h->before, MESSAGE_LEAVES, 0, NULL, NULL);
}

void before_end(struct handover *h) {
  for (struct kept *k = h->kept; k;) {
    struct kept *next = k->next;
    keeper_end(&k->keeper);
    free(k);
    k = next;
  }
  h->kept = NULL;
  if (!channel_is_open(&h->before)) return;
  channel_close(&h->before);
  handover_set_state(h, HANDOVER_NONE);
}

void before_look(struct handover *h) {
  struct message m;
  enum channel_result result = CHANNEL_NOTHING;
  if (!channel_is_open(&h->before) || h->before.is_deaf) return;
  while ((result = channel_receive(&h->before, &m)) == CHANNEL_MESSAGE) {
    if (!before_hear(h, &m)) break;
  }
  for (struct kept *k = h->kept; k; k = k->next) {
    if (!before_give(h, &k->keeper)) result = CHANNEL_ENDED;
  }
  if (result == CHANNEL_NOTHING) return;
  if (result != CHANNEL_ENDED) { /* what it has is not known: it keeps that until it ends */
    log_line(LOG_ERROR, NULL, "what process %ld says makes no sense", (long)h->before_pid);
    h->before.is_deaf = true;
    return;
  }
  log_line(LOG_INFO, NULL, "process %ld has ended: all permits are here", (long)h->before_pid);
  before_end(h);
}
