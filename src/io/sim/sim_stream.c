/* sim_stream.c: the simulation's connections (sim.h has flows and marks).
 *
 * Invariants
 *   I1  of a flow: taken <= arrived <= sent <= taken + size
 *   I2  while a flow has marks, its timer runs until the first of them
 *   I3  a connection exists until both sides are closed, or the listener is that has one of them */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POLLRDHUP */
#endif
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/os/check.h"
#include "sim.h"

enum { BUFFER_SIZE = 65536 };

static const uint32_t everything = POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP;

/* ---- flows ---- */

static void sim_flow_expired(void *ctx);

static void sim_flow_start_timer(volt_sim_flow_ *flow) {
  volt_waker waker = {.wake = sim_flow_expired, .ctx = flow};
  volt_timers *timers = volt_rt_timers(flow->conn->net->io.rt);
  volt_timer_start(timers, &flow->timer, flow->mark[flow->first_mark].at_ns, waker);
}

static void sim_flow_stop_timer(volt_sim_flow_ *flow) {
  if (flow->marks == 0) return;
  volt_timer_cancel(volt_rt_timers(flow->conn->net->io.rt), &flow->timer);
  flow->marks = 0;
}

/* What the first mark says has arrived. */
static void sim_flow_arrive(volt_sim_flow_ *flow, const volt_sim_mark_ *mark) {
  VOLT_ASSERT(mark->upto >= flow->arrived && mark->upto <= flow->sent);
  flow->arrived = mark->upto;
  flow->end_arrived = mark->is_end;
}

static void sim_flow_expired(void *ctx) {
  volt_sim_flow_ *flow = (volt_sim_flow_ *)ctx;
  uint64_t now_ns = volt_sim_now_ns_(flow->conn->net);
  while (flow->marks > 0 && flow->mark[flow->first_mark].at_ns <= now_ns) {
    sim_flow_arrive(flow, &flow->mark[flow->first_mark]);
    flow->first_mark = (flow->first_mark + 1) % VOLT_SIM_MARKS_;
    flow->marks -= 1;
  }
  if (flow->marks > 0) sim_flow_start_timer(flow); /* I2 */
  uint32_t bits = flow->end_arrived ? POLLIN | POLLRDHUP : POLLIN;
  if (flow->end_arrived && flow->conn->flow[1 - flow->receiver].is_ended) bits |= POLLHUP;
  volt_sim_became_ready_(flow->conn->side[flow->receiver], bits);
}

/* All that was sent arrives at at_ns, or the end of the stream does. Returns whether the timer has
 * to be started. */
static bool sim_flow_add_mark(volt_sim_flow_ *flow, uint64_t at_ns) {
  volt_sim_mark_ mark = {.upto = flow->sent, .at_ns = at_ns, .is_end = flow->is_ended};
  if (flow->marks > 0) {
    unsigned last = (flow->first_mark + flow->marks - 1) % VOLT_SIM_MARKS_;
    if (mark.at_ns < flow->mark[last].at_ns) mark.at_ns = flow->mark[last].at_ns; /* in order */
    if (flow->marks == VOLT_SIM_MARKS_) { /* with the last one */
      flow->mark[last] = mark;
      return false;
    }
  }
  flow->mark[(flow->first_mark + flow->marks) % VOLT_SIM_MARKS_] = mark;
  flow->marks += 1;
  return flow->marks == 1;
}

/* What was sent by now is on its way. */
static void sim_flow_send(volt_sim_flow_ *flow) {
  const volt_simulated_faults *faults = &flow->conn->net->faults;
  if (flow->marks == 0 && faults->delay_max_ns == 0) {
    const volt_sim_mark_ mark = {.upto = flow->sent, .is_end = flow->is_ended};
    sim_flow_arrive(flow, &mark);
    sim_flow_expired(flow); /* reports to the receiver */
  } else if (sim_flow_add_mark(flow, volt_sim_arrival_ns_(flow->conn->net))) {
    sim_flow_start_timer(flow);
  }
}

/* How many of size bytes from count `at` on are before the end of the ring; the rest is at its
 * beginning. */
static size_t sim_flow_first_part(const volt_sim_flow_ *flow, uint64_t at, size_t size) {
  size_t to_end = flow->size - (size_t)(at % flow->size);
  return size < to_end ? size : to_end;
}

static void sim_flow_put(volt_sim_flow_ *flow, const uint8_t *from, size_t size) {
  size_t first = sim_flow_first_part(flow, flow->sent, size);
  memcpy(flow->bytes + flow->sent % flow->size, from, first);
  memcpy(flow->bytes, from + first, size - first);
  flow->sent += size;
}

static void sim_flow_copy_sent(const volt_sim_flow_ *flow, uint8_t *to, size_t size) {
  size_t first = sim_flow_first_part(flow, flow->taken, size);
  memcpy(to, flow->bytes + flow->taken % flow->size, first);
  memcpy(to + first, flow->bytes, size - first);
}

/* ---- connections ---- */

static void sim_conn_free(volt_sim_conn_ *conn) {
  for (unsigned i = 0; i < 2; i++) {
    sim_flow_stop_timer(&conn->flow[i]);
    free(conn->flow[i].bytes);
  }
  free(conn);
}

bool volt_sim_conn_make_(volt_sim_socket_ *client, volt_sim_socket_ *server) {
  volt_sim_conn_ *conn = (volt_sim_conn_ *)calloc(1, sizeof *conn);
  if (!conn) return false;
  conn->net = client->net;
  conn->side[0] = client;
  conn->side[1] = server;
  uint32_t size = conn->net->faults.buffer_size;
  for (unsigned i = 0; i < 2; i++) {
    volt_sim_flow_ *flow = &conn->flow[i];
    flow->conn = conn;
    flow->receiver = i;
    flow->size = size > 0 ? size : BUFFER_SIZE;
    flow->bytes = (uint8_t *)malloc(flow->size);
    if (!flow->bytes) {
      sim_conn_free(conn);
      return false;
    }
  }
  for (unsigned i = 0; i < 2; i++) {
    conn->side[i]->conn = conn;
    conn->side[i]->side = i;
    conn->side[i]->state = VOLT_SIM_CONNECTED_;
  }
  return true;
}

void volt_sim_conn_reset_(volt_sim_conn_ *conn) {
  if (conn->is_reset) return;
  conn->is_reset = true;
  for (unsigned i = 0; i < 2; i++) sim_flow_stop_timer(&conn->flow[i]);
  for (unsigned i = 0; i < 2; i++) {
    if (conn->side[i]) conn->side[i]->error = ECONNRESET;
  }
  for (unsigned i = 0; i < 2; i++) volt_sim_became_ready_(conn->side[i], everything);
}

/* ---- connect ---- */

static void sim_connect_failed(volt_sim_socket_ *s, int error) {
  s->state = VOLT_SIM_REFUSED_;
  s->error = error;
  volt_sim_became_ready_(s, everything);
}

static void sim_listener_append(volt_sim_socket_ *listener, volt_sim_socket_ *server) {
  server->next_queued = NULL;
  if (listener->backlog_last) {
    listener->backlog_last->next_queued = server;
  } else {
    listener->backlog_first = server;
  }
  listener->backlog_last = server;
  listener->backlog += 1;
}

/* The time of a connect() has come. */
static void sim_connect_arrived(void *ctx) {
  volt_sim_socket_ *s = (volt_sim_socket_ *)ctx;
  volt_sim_net_ *net = s->net;
  volt_sim_socket_ *listener = volt_sim_find_address_(net, SOCK_STREAM, &s->peer, s->peer_size);
  bool is_full = listener && listener->backlog >= listener->backlog_max;
  if (!listener || is_full || volt_sim_happens_(net, net->faults.refuse_per_million)) {
    sim_connect_failed(s, ECONNREFUSED);
    return;
  }
  volt_sim_socket_ *server = volt_sim_socket_new_(net, s->domain, s->type);
  if (!server || !volt_sim_conn_make_(s, server)) {
    if (server) volt_sim_socket_free_(server);
    sim_connect_failed(s, ENOMEM);
    return;
  }
  server->local = listener->local;
  server->local_size = listener->local_size;
  server->peer = s->local;
  server->peer_size = s->local_size;
  sim_listener_append(listener, server);
  volt_sim_became_ready_(listener, POLLIN);
  volt_sim_became_ready_(s, POLLOUT);
}

int volt_sim_connect_(volt_sim_socket_ *s, const struct sockaddr *to, socklen_t size) {
  if (s->state == VOLT_SIM_CONNECTS_) return -EALREADY;
  if (s->state == VOLT_SIM_CONNECTED_) return -EISCONN;
  if (s->state != VOLT_SIM_IDLE_) return -EINVAL;
  memcpy(&s->peer, to, size);
  s->peer_size = size;
  s->state = VOLT_SIM_CONNECTS_;
  volt_waker waker = {.wake = sim_connect_arrived, .ctx = s};
  volt_timer_start(volt_rt_timers(s->net->io.rt), &s->timer, volt_sim_arrival_ns_(s->net), waker);
  return -EINPROGRESS;
}

/* ---- recv, send ---- */

/* An error is returned once. Returns it, negative; or 0. */
static int sim_stream_take_error(volt_sim_socket_ *s) {
  int error = s->error;
  s->error = 0;
  return -error;
}

/* size, or by a fault less. */
static size_t sim_stream_shorten(volt_sim_net_ *net, size_t size) {
  if (size <= 1 || !volt_sim_happens_(net, net->faults.short_per_million)) return size;
  return 1 + (size_t)volt_sim_random_(net, size - 1);
}

ssize_t volt_sim_stream_recv_(volt_sim_socket_ *s, void *to, size_t size, bool peeks) {
  if (s->state != VOLT_SIM_CONNECTED_) return -ENOTCONN;
  if (s->error) return sim_stream_take_error(s);
  volt_sim_flow_ *flow = &s->conn->flow[s->side];
  if (s->conn->is_reset || s->reads_no_more) return 0;
  uint64_t there = flow->arrived - flow->taken;
  if (there == 0) return flow->end_arrived ? 0 : -EAGAIN;
  size_t n = sim_stream_shorten(s->net, there < size ? (size_t)there : size);
  sim_flow_copy_sent(flow, (uint8_t *)to, n);
  if (peeks) return (ssize_t)n;
  flow->taken += n;
  volt_sim_became_ready_(s->conn->side[1 - s->side], POLLOUT);
  if (n < there) volt_sim_became_ready_(s, POLLIN);
  return (ssize_t)n;
}

ssize_t volt_sim_stream_send_(volt_sim_socket_ *s, const void *from, size_t size) {
  if (s->state != VOLT_SIM_CONNECTED_) return s->state == VOLT_SIM_CONNECTS_ ? -EAGAIN : -ENOTCONN;
  if (s->error) return sim_stream_take_error(s);
  volt_sim_conn_ *conn = s->conn;
  volt_sim_flow_ *flow = &conn->flow[1 - s->side];
  if (conn->is_reset || flow->is_ended) return -EPIPE;
  if (!conn->side[1 - s->side]) { /* to a closed socket: its system answers with a reset */
    volt_sim_conn_reset_(conn);
    return (ssize_t)size;
  }
  uint64_t room = flow->size - (flow->sent - flow->taken);
  if (room == 0) return -EAGAIN;
  size_t n = sim_stream_shorten(s->net, room < size ? (size_t)room : size);
  sim_flow_put(flow, (const uint8_t *)from, n);
  VOLT_ASSERT(flow->sent <= flow->taken + flow->size); /* I1 */
  if (volt_sim_happens_(s->net, s->net->faults.reset_per_million)) {
    volt_sim_conn_reset_(conn);
  } else {
    sim_flow_send(flow);
    if (n < room) volt_sim_became_ready_(s, POLLOUT);
  }
  return (ssize_t)n;
}

static uint32_t sim_listener_ready(const volt_sim_socket_ *s) {
  return s->backlog > 0 ? POLLIN : 0;
}

uint32_t volt_sim_stream_ready_(volt_sim_socket_ *s) {
  if (s->state == VOLT_SIM_LISTENS_) return sim_listener_ready(s);
  if (s->state == VOLT_SIM_CONNECTS_) return 0;
  if (s->state != VOLT_SIM_CONNECTED_) return POLLOUT | POLLHUP | (s->error ? POLLERR : 0);
  const volt_sim_flow_ *in = &s->conn->flow[s->side], *out = &s->conn->flow[1 - s->side];
  uint32_t bits = s->error ? POLLERR : 0;
  if (s->conn->is_reset) return bits | (everything & ~(uint32_t)POLLERR);
  if (in->arrived > in->taken || in->end_arrived || s->reads_no_more) bits |= POLLIN;
  if (in->end_arrived || s->reads_no_more) bits |= POLLRDHUP;
  if (in->end_arrived && out->is_ended) bits |= POLLHUP;
  if (out->sent - out->taken < out->size || out->is_ended) bits |= POLLOUT;
  return bits;
}

/* ---- the end ---- */

/* s sends no more: its peer hears of it after all that was sent. */
static void sim_stream_end(volt_sim_socket_ *s) {
  volt_sim_flow_ *flow = &s->conn->flow[1 - s->side];
  if (flow->is_ended || s->conn->is_reset) return;
  flow->is_ended = true;
  sim_flow_send(flow);
}

int volt_sim_stream_shutdown_(volt_sim_socket_ *s, int how) {
  if (s->state != VOLT_SIM_CONNECTED_) return -ENOTCONN;
  if (how == SHUT_WR || how == SHUT_RDWR) sim_stream_end(s);
  if (how == SHUT_RD || how == SHUT_RDWR) s->reads_no_more = true;
  volt_sim_became_ready_(s, POLLIN | POLLOUT | (how == SHUT_WR ? 0 : POLLRDHUP));
  return 0;
}

static void sim_listener_close(volt_sim_socket_ *s) {
  while (s->backlog_first) {
    volt_sim_socket_ *server = s->backlog_first;
    s->backlog_first = server->next_queued;
    volt_sim_conn_reset_(server->conn);
    volt_sim_stream_close_(server);
    volt_sim_socket_free_(server);
  }
}

void volt_sim_stream_close_(volt_sim_socket_ *s) {
  if (s->state == VOLT_SIM_LISTENS_) sim_listener_close(s);
  if (s->state == VOLT_SIM_CONNECTS_) {
    volt_timer_cancel(volt_rt_timers(s->net->io.rt), &s->timer);
  }
  volt_sim_conn_ *conn = s->conn;
  if (!conn) return;
  const volt_sim_flow_ *in = &conn->flow[s->side];
  if (in->arrived > in->taken) { /* what was not read: the peer gets a reset */
    volt_sim_conn_reset_(conn);
  } else {
    sim_stream_end(s);
  }
  conn->side[s->side] = NULL;
  s->conn = NULL;
  if (!conn->side[1 - s->side]) sim_conn_free(conn); /* I3 */
}
