/* probe.c: the breaker of a gate, and the task that looks whether the server is back.
 *
 * A server that hangs accepts still, because its kernel does. So the probe asks what each server of
 * the protocol answers at once, before a login: of PostgreSQL whether it speaks TLS, of redis PING. Any
 * byte is an answer, also of an error. To close without one is none: a balancer accepts for a server
 * that is away, and closes. */
#include <stdlib.h>
#include <string.h>
#include <volt/net.h>
#include <volt/time.h>

#include "gate/secure.h"
#include "process/log.h"

#define PROBE_NS UINT64_C(5000000000) /* for the answer, without connect-timeout */
enum { PROBE_QUESTION_MAX = 8 };

static const char gate_silence[] = "it accepts connections, but does not answer";
static const char gate_hangs_up[] = "it accepts connections, but closes them without an answer";

/* Looks whether the server is back, until it is. */
struct probe {
  volt_task task;
  struct gate *gate;
  union { /* one at a time */
    volt_dial dial;
    volt_op op;
    volt_tls_op tls_op;
    volt_sleep_op sleep;
    struct secure secure;
  };
  volt_tls *tls; /* NULL: in the clear */
  volt_timeout timeout;
  volt_fd fd;
  uint64_t asked_ns;
  size_t size; /* of the question */
  int result;
  bool hung_up; /* the server has closed, and not answered */
  char bytes[PROXY_OUT_MAX + PROBE_QUESTION_MAX];
};

static uint64_t gate_now_ns(const struct gate *g) {
  return g->rt ? volt_rt_now_ns(g->rt) : volt_now_ns();
}

static uint64_t probe_deadline_ns(const struct gate *g, uint64_t or_ns) {
  uint64_t timeout_ns = gate_settings(g)->connect_timeout_ns;
  if (timeout_ns == 0) timeout_ns = or_ns;
  return timeout_ns ? gate_now_ns(g) + timeout_ns : VOLT_NO_DEADLINE;
}

/* Whether the probe goes on. If not, the next failure starts another. */
static bool probe_goes_on(struct gate *g) {
  if (breaker_is_in_doubt(&g->breaker)) return true;
  /* gate:P1 <-> gate:P2: either the doubt is seen here, or is_probing false there */
  atomic_exchange_explicit(&g->is_probing, false, memory_order_acq_rel);
  return breaker_is_in_doubt(&g->breaker) &&
         !atomic_exchange_explicit(&g->is_probing, true, memory_order_acq_rel);
}

/* ---- its steps ---- */

static volt_future *probe_rest(struct probe *self) {
  struct gate *g = self->gate;
  return volt_sleep_future(&self->sleep, volt_rt_timers(g->rt),
                           gate_now_ns(g) + gate_settings(g)->breaker_retry_ns);
}

static volt_future *probe_within(struct probe *self, volt_future *f, uint64_t or_ns) {
  struct gate *g = self->gate;
  return volt_timeout_future(&self->timeout, f, volt_rt_timers(g->rt), probe_deadline_ns(g, or_ns));
}

static volt_future *probe_dial(struct probe *self) {
  struct gate *g = self->gate;
  return probe_within(
      self, volt_dial_future(&self->dial, g->rt, &self->fd, gate_settings(g)->to, NULL), 0);
}

/* Write what it asks, behind a PROXY header if the gate sends one. Returns false: nothing: of a
 * server of any protocol an answer cannot be expected; of PostgreSQL with TLS it has come. */
static bool probe_has_question(struct probe *self) {
  static const struct {
    char bytes[PROBE_QUESTION_MAX + 1];
    uint8_t size;
  } questions[] = {[PROTOCOL_TCP] = {"", 0},
                   [PROTOCOL_POSTGRES] = {"\0\0\0\x08\x04\xd2\x16\x2f", 8}, /* SSLRequest */
                   [PROTOCOL_REDIS] = {"PING\r\n", 6},
                   [PROTOCOL_PERMIT] = {"", 0}}; /* it has no server */
  const struct gate_settings *settings = gate_settings(self->gate);
  size_t size = questions[settings->protocol].size;
  if (size == 0 || (self->tls && settings->protocol == PROTOCOL_POSTGRES)) return false;
  self->size = self->tls ? 0 : secure_header(self->gate, self->bytes);
  memcpy(self->bytes + self->size, questions[settings->protocol].bytes, size);
  self->size += size;
  self->asked_ns = gate_now_ns(self->gate);
  return true;
}

static volt_future *probe_ask(struct probe *self) {
  volt_future *sent =
      self->tls ? volt_tls_send_all_future(&self->tls_op, self->tls, self->bytes, self->size)
                : volt_fd_send_future(&self->op, &self->fd, self->bytes, self->size, 0);
  return probe_within(self, sent, PROBE_NS);
}

static volt_future *probe_hear(struct probe *self) {
  volt_future *heard = self->tls ? volt_tls_recv_future(&self->tls_op, self->tls, self->bytes, 1)
                                 : volt_fd_recv_future(&self->op, &self->fd, self->bytes, 1, 0);
  return probe_within(self, heard, PROBE_NS);
}

/* Whether a byte came. */
static bool probe_has_heard(const struct probe *self) {
  return (self->tls ? self->tls_op.n : self->op.n) > 0;
}

static void probe_close(struct probe *self) {
  if (self->tls) volt_tls_close(self->tls);
  free(self->tls);
  self->tls = NULL;
  volt_fd_close(&self->fd);
}

static void gate_failed(struct gate *g, const char *reason, uint64_t silent_ns);

/* It is connected, and was asked, if there was a question. */
static void probe_decide(struct probe *self) {
  probe_close(self);
  if (self->hung_up) {
    gate_failed(self->gate, gate_hangs_up, self->asked_ns);
  } else if (self->result == VOLT_OK) {
    gate_answered(self->gate);
  } else if (self->result == VOLT_ETIMEDOUT) {
    gate_unanswered(self->gate, self->asked_ns);
  } else {
    gate_connect_failed(self->gate, volt_strerror(self->result));
  }
}

/* The handshake was made, or has failed. */
static bool probe_is_secure(struct probe *self) {
  if (self->result == VOLT_OK) {
    self->tls = self->secure.tls;
    return true;
  }
  gate_connect_failed(self->gate, self->secure.why);
  probe_close(self);
  return false;
}

static int probe_poll(volt_task *t, volt_ctx *ctx) {
  struct probe *self = volt_container_of(t, struct probe, task);
  struct gate *g = self->gate;
  VOLT_TASK_BEGIN(self);
  while (probe_goes_on(g)) {
    VOLT_AWAIT(self, probe_rest(self));
    if (!breaker_is_in_doubt(&g->breaker)) continue;
    self->hung_up = false;
    VOLT_AWAIT_RESULT(self, self->result, probe_dial(self));
    if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_ECANCELED);
    if (self->result != VOLT_OK) {
      gate_connect_failed(g, volt_dial_error(&self->dial, self->result));
      continue;
    }
    if (secure_is_wanted(g)) {
      VOLT_AWAIT_RESULT(self, self->result, secure_probe_future(&self->secure, g, &self->fd));
      if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_ECANCELED);
      if (!probe_is_secure(self)) continue;
    }
    if (probe_has_question(self)) {
      VOLT_AWAIT_RESULT(self, self->result, probe_ask(self));
      if (self->result == VOLT_OK) VOLT_AWAIT_RESULT(self, self->result, probe_hear(self));
      if (self->result == VOLT_ECANCELED) VOLT_RETURN(self, VOLT_ECANCELED);
      self->hung_up = self->result == VOLT_OK && !probe_has_heard(self);
    }
    probe_decide(self);
  }
  VOLT_FINALLY(self);
  probe_close(self);
  VOLT_TASK_END(self);
}

static void gate_probe(struct gate *g) {
  if (!g->rt) return;
  /* gate:P2 <-> gate:P1 */
  if (atomic_exchange_explicit(&g->is_probing, true, memory_order_acq_rel)) return;
  struct probe *probe = VOLT_TASK_NEW(g->rt, struct probe, probe_poll);
  if (probe) probe->gate = g;
  int result = volt_group_spawn(&g->probes, g->rt, probe ? &probe->task : NULL);
  if (result == VOLT_OK) return;
  if (probe) volt_task_detach(&probe->task);
  atomic_store_explicit(&g->is_probing, false, memory_order_relaxed);
  breaker_succeeded(&g->breaker); /* no probe would close it; the next client finds out again */
}

/* silent_ns: as of breaker_failed(). */
static void gate_failed(struct gate *g, const char *reason, uint64_t silent_ns) {
  /* relaxed: two that fail at once may both be the first, and then both are logged */
  bool is_first = atomic_load_explicit(&g->breaker.failures, memory_order_relaxed) == 0;
  statistics_count(&g->statistics, COUNT_CONNECT_FAILURES, 1);
  if (!breaker_failed(&g->breaker, gate_settings(g)->breaker_failures, gate_now_ns(g), reason,
                      silent_ns)) {
    if (is_first)
      log_line(LOG_WARN, g->name, "cannot connect: %s: %s", gate_settings(g)->to, reason);
    return;
  }
  log_line(LOG_ERROR, g->name, "breaker open: %s: %s", gate_settings(g)->to, reason);
  gate_probe(g);
  gate_tell(g);
}

void gate_connect_failed(struct gate *g, const char *reason) {
  gate_failed(g, reason, 0);
}

/* It is probed from the first time on: then it is known soon whether only one client has waited. */
void gate_unanswered(struct gate *g, uint64_t since_ns) {
  const struct gate_settings *settings = gate_settings(g);
  bool is_first = breaker_silent_ns(&g->breaker) == 0;
  bool opens = breaker_failed(&g->breaker, settings->breaker_failures, gate_now_ns(g), gate_silence,
                              since_ns);
  if (opens) {
    log_line(LOG_ERROR, g->name, "breaker open: %s: %s", settings->to, gate_silence);
  } else if (is_first) {
    log_line(LOG_WARN, g->name, "no answer: %s: %s", settings->to, gate_silence);
  }
  gate_probe(g);
  if (opens) gate_tell(g);
}

void gate_answered(struct gate *g) {
  enum breaker_news news = breaker_succeeded(&g->breaker);
  if (news == BREAKER_NO_NEWS) return;
  if (news == BREAKER_ANSWERS) log_line(LOG_INFO, g->name, "%s answers", gate_settings(g)->to);
  if (news != BREAKER_CLOSES) return;
  log_line(LOG_INFO, g->name, "breaker closed: %s is back", gate_settings(g)->to);
  gate_tell(g);
}
