/* zookeeper_attempt.c: which server is asked, and when.
 *
 * A round: each address once, in an order by chance, one after another without a pause. After a
 * round without success there is a pause, of 0.1 s at first and of 1 s at most, in which the names
 * are looked up again. A server that does not answer has an eighth of the session's time, later
 * more, so that one that is dead does not use up the time of the leases.
 *
 * A connection over which an answer is due for a quarter of the session's time is given up, too.
 * The client itself would wait for two thirds of it; the leases are valid for half of it. If the
 * next connection gets no answer either, the ensemble is slow, and has twice the time. */
#include <stdio.h>

#include "zookeeper.h"
#include "zookeeper_attempt.h"
#include "zookeeper_link.h"
#include "zookeeper_log.h"
#include "zookeeper_servers.h"
#include "zookeeper_socket.h"

#define ATTEMPT_PAUSE_NS UINT64_C(100000000)
#define ATTEMPT_PAUSE_MAX_NS UINT64_C(1000000000)
#define ATTEMPT_LEAST_NS UINT64_C(250000000)

static uint64_t zookeeper_attempt_session_ns(const zookeeper *b) {
  return b->has_session ? b->session_ns : (uint64_t)b->session_ms * 1000000u;
}

static uint64_t zookeeper_attempt_limit_ns(const zookeeper *b) {
  uint64_t limit = zookeeper_attempt_session_ns(b) / 8 << (b->rounds < 3 ? b->rounds : 3);
  return limit > ATTEMPT_LEAST_NS ? limit : ATTEMPT_LEAST_NS;
}

static uint64_t zookeeper_attempt_stall_ns(const zookeeper *b) {
  if (!b->sent.first) return VOLT_NO_DEADLINE;
  return b->sent.first->sent_ns + (b->session_ns / 4 << (b->stalls < 2 ? b->stalls : 2));
}

static void zookeeper_attempt_end_stall(zookeeper *b) {
  b->stalls++;
  zookeeper_link_drop_(b, "no answer in time");
}

/* When a session is given up that no server takes back. */
static uint64_t zookeeper_attempt_end_ns(const zookeeper *b) {
  return b->has_session ? b->heard_ns + 2 * b->session_ns : VOLT_NO_DEADLINE;
}

static void zookeeper_attempt_resolve(zookeeper *b) {
  b->phase = ZOOKEEPER_RESOLVING;
  if (b->is_resolving) return;
  b->is_resolving = true;
  (void)zookeeper_servers_future_(&b->servers);
}

static void zookeeper_attempt_complain(zookeeper *b) {
  const zookeeper_servers *s = &b->servers;
  if (b->has_complained) return;
  b->has_complained = true;
  if (s->count == 0) {
    zookeeper_log_line_(b, VOLT_CLUSTER_WARN, "cannot look up %s: %s; trying again",
                        s->failed ? s->failed : s->names[0], s->why);
  } else {
    zookeeper_log_line_(b, VOLT_CLUSTER_WARN, "no server answers, %s neither: %s; trying again",
                        b->at, b->why);
  }
}

static void zookeeper_attempt_round_ends(zookeeper *b) {
  uint64_t pause = ATTEMPT_PAUSE_NS << (b->rounds < 4 ? b->rounds : 4);
  if (pause > ATTEMPT_PAUSE_MAX_NS) pause = ATTEMPT_PAUSE_MAX_NS;
  pause -= zookeeper_random_(&b->servers) % (pause / 4); /* not all hosts at once */
  b->pause_until_ns = zookeeper_now_ns_() + pause;
  b->rounds++;
  b->tried = 0;
  if (b->handle) zookeeper_server_set_(b, NULL); /* gives up the attempt, if there is one */
  zookeeper_socket_close_(b);
  zookeeper_attempt_complain(b);
  zookeeper_attempt_resolve(b);
}

/* Ask the next server. Returns whether the attempt goes on. */
static bool zookeeper_attempt_begin(zookeeper *b) {
  const zookeeper_servers *s = &b->servers;
  zookeeper_address_text_(&s->addresses[b->server % s->count], b->at);
  b->server = (b->server + 1) % s->count;
  b->tried++;
  b->phase = ZOOKEEPER_TRYING;
  b->asked_ns = zookeeper_now_ns_();
  (void)snprintf(b->why, sizeof b->why, "no connection");
  if (b->handle) {
    zookeeper_server_set_(b, b->at);
  } else if (!zookeeper_link_open_(b)) {
    (void)snprintf(b->why, sizeof b->why, "the client could not be made");
    return false;
  }
  zookeeper_socket_close_(b);                               /* of the attempt before */
  if (zookeeper_link_ask_(b)) (void)zookeeper_link_ask_(b); /* the pauses are made here */
  return zookeeper_is_trying_(b);
}

static void zookeeper_attempt_next(zookeeper *b) {
  while (b->tried < b->servers.count) {
    if (zookeeper_attempt_begin(b)) return;
  }
  zookeeper_attempt_round_ends(b);
}

static void zookeeper_attempt_try(zookeeper *b, uint64_t now) {
  bool goes_on = zookeeper_is_trying_(b);
  if (goes_on && now < b->asked_ns + zookeeper_attempt_limit_ns(b)) return;
  if (goes_on) (void)snprintf(b->why, sizeof b->why, "no answer in time");
  zookeeper_attempt_next(b);
}

void zookeeper_attempt_(zookeeper *b) {
  uint64_t now = zookeeper_now_ns_();
  switch (b->phase) {
    case ZOOKEEPER_IDLE: return;
    case ZOOKEEPER_RESOLVING:
      if (!b->is_resolving && now >= b->pause_until_ns) zookeeper_attempt_next(b);
      break;
    case ZOOKEEPER_TRYING: zookeeper_attempt_try(b, now); break;
    case ZOOKEEPER_CONNECTED:
      if (b->is_distrusted)
        zookeeper_link_drop_(b, "it cannot be used");
      else if (!b->is_again && now >= zookeeper_attempt_stall_ns(b))
        zookeeper_attempt_end_stall(b);
      (void)zookeeper_link_check_(b);
      return;
  }
  if (b->phase != ZOOKEEPER_CONNECTED && now >= zookeeper_attempt_end_ns(b))
    zookeeper_session_end_(b, VOLT_CLUSTER_SESSION_EXPIRED, "no server has taken it back in time");
}

uint64_t zookeeper_attempt_due_ns_(const zookeeper *b) {
  uint64_t due = VOLT_NO_DEADLINE;
  switch (b->phase) {
    case ZOOKEEPER_IDLE: return due;
    case ZOOKEEPER_RESOLVING:
      if (!b->is_resolving) due = b->pause_until_ns;
      break;
    case ZOOKEEPER_TRYING: due = b->asked_ns + zookeeper_attempt_limit_ns(b); break;
    case ZOOKEEPER_CONNECTED: return b->is_distrusted ? 0 : zookeeper_attempt_stall_ns(b);
  }
  uint64_t end = zookeeper_attempt_end_ns(b);
  return due < end ? due : end;
}

void zookeeper_attempt_first_(zookeeper *b) {
  b->tried = 0;
  zookeeper_attempt_resolve(b);
}

/* The other servers at once, the one that was lost last. */
void zookeeper_attempt_again_(zookeeper *b) {
  b->tried = 0;
  b->rounds = 0;
  b->pause_until_ns = 0;
  b->phase = ZOOKEEPER_RESOLVING;
  b->is_again = true;
}
