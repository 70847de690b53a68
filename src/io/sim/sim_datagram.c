/* sim_datagram.c: the simulation's datagram sockets. A datagram waits at its receiver, in a list by
 * the time at which it arrives. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { DATAGRAM_MAX = 65507, QUEUE_BYTES = 212992 };

static bool sim_datagram_is_there(const volt_sim_socket_ *s) {
  return s->datagrams && s->datagrams->at_ns <= volt_sim_now_ns_(s->net);
}

static void sim_datagram_arrived(void *ctx);

/* The timer runs until the first one that has not arrived, or not at all. */
static void sim_datagram_set_timer(volt_sim_socket_ *s) {
  volt_timers *timers = volt_rt_timers(s->net->io.rt);
  volt_timer_cancel(timers, &s->timer);
  uint64_t now_ns = volt_sim_now_ns_(s->net);
  const volt_sim_datagram_ *next = s->datagrams;
  while (next && next->at_ns <= now_ns) next = next->next;
  volt_waker waker = {.wake = sim_datagram_arrived, .ctx = s};
  if (next) volt_timer_start(timers, &s->timer, next->at_ns, waker);
}

static void sim_datagram_arrived(void *ctx) {
  volt_sim_socket_ *s = (volt_sim_socket_ *)ctx;
  sim_datagram_set_timer(s);
  volt_sim_became_ready_(s, POLLIN);
}

static size_t sim_datagram_size(const struct msghdr *message) {
  size_t size = 0;
  for (size_t i = 0; i < (size_t)message->msg_iovlen; i++) size += message->msg_iov[i].iov_len;
  return size;
}

static volt_sim_datagram_ *sim_datagram_new(const volt_sim_socket_ *s, const struct msghdr *message,
                                            size_t size) {
  volt_sim_datagram_ *g = (volt_sim_datagram_ *)malloc(sizeof *g + size);
  if (!g) return NULL;
  g->from = s->local;
  g->from_size = s->local_size;
  g->size = 0;
  for (size_t i = 0; i < (size_t)message->msg_iovlen; i++) {
    memcpy(g->bytes + g->size, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
    g->size += message->msg_iov[i].iov_len;
  }
  return g;
}

static void sim_datagram_insert(volt_sim_socket_ *to, volt_sim_datagram_ *g) {
  volt_sim_datagram_ **at = &to->datagrams;
  while (*at && (*at)->at_ns <= g->at_ns) at = &(*at)->next;
  g->next = *at;
  *at = g;
  to->datagram_bytes += g->size;
  sim_datagram_set_timer(to);
  if (sim_datagram_is_there(to)) volt_sim_became_ready_(to, POLLIN);
}

ssize_t volt_sim_datagram_send_(volt_sim_socket_ *s, const struct msghdr *message) {
  const void *address = message->msg_name ? message->msg_name : &s->peer;
  socklen_t address_size = message->msg_name ? message->msg_namelen : s->peer_size;
  size_t size = sim_datagram_size(message);
  if (address_size == 0) return -EDESTADDRREQ;
  if (address_size > sizeof s->peer) return -EINVAL;
  if (message->msg_controllen > 0) return -EOPNOTSUPP;
  if (size > DATAGRAM_MAX) return -EMSGSIZE;
  volt_sim_net_ *net = s->net;
  volt_sim_socket_ *to = volt_sim_find_address_(net, SOCK_DGRAM, address, address_size);
  bool is_lost = volt_sim_happens_(net, net->faults.lose_per_million);
  if (!to || is_lost || to->datagram_bytes + size > QUEUE_BYTES) return (ssize_t)size;
  volt_sim_datagram_ *g = sim_datagram_new(s, message, size);
  if (!g) return -ENOMEM;
  g->at_ns = volt_sim_arrival_ns_(net);
  sim_datagram_insert(to, g);
  return (ssize_t)size;
}

static void sim_datagram_remove_first(volt_sim_socket_ *s) {
  volt_sim_datagram_ *g = s->datagrams;
  s->datagrams = g->next;
  s->datagram_bytes -= g->size;
  free(g);
}

ssize_t volt_sim_datagram_recv_(volt_sim_socket_ *s, struct msghdr *message, int flags) {
  if (!sim_datagram_is_there(s)) return s->reads_no_more ? 0 : -EAGAIN;
  const volt_sim_datagram_ *g = s->datagrams;
  size_t copied = 0;
  for (size_t i = 0; i < (size_t)message->msg_iovlen && copied < g->size; i++) {
    size_t part = message->msg_iov[i].iov_len;
    if (part > g->size - copied) part = g->size - copied;
    memcpy(message->msg_iov[i].iov_base, g->bytes + copied, part);
    copied += part;
  }
  if (message->msg_name) {
    socklen_t room = message->msg_namelen < g->from_size ? message->msg_namelen : g->from_size;
    memcpy(message->msg_name, &g->from, room);
    message->msg_namelen = g->from_size;
  }
  message->msg_controllen = 0;
  message->msg_flags = copied < g->size ? MSG_TRUNC : 0;
  ssize_t n = (ssize_t)(flags & MSG_TRUNC ? g->size : copied);
  if (!(flags & MSG_PEEK)) sim_datagram_remove_first(s);
  if (sim_datagram_is_there(s)) volt_sim_became_ready_(s, POLLIN);
  return n;
}

uint32_t volt_sim_datagram_ready_(volt_sim_socket_ *s) {
  return POLLOUT | (sim_datagram_is_there(s) || s->reads_no_more ? POLLIN : 0);
}

void volt_sim_datagram_close_(volt_sim_socket_ *s) {
  volt_timer_cancel(volt_rt_timers(s->net->io.rt), &s->timer);
  while (s->datagrams) sim_datagram_remove_first(s);
}
