/* ensemble.h: the parts of the simulated ensemble (volt/ensemble.h).
 *
 *   ensemble.c           time, chance, the heap of what will happen, create and destroy, what a test sees
 *   ensemble_tree.c      nodes: each server has a tree, and the leader one more, of what is proposed
 *   ensemble_write.c     what a transaction does: decided by the leader, in order
 *   ensemble_log.c       the log: proposed, logged by a majority, committed, applied by each server
 *   ensemble_leader.c    leaders, followers, elections, faults of servers
 *   ensemble_session.c   sessions: how long, how the leader hears of them, their end
 *   ensemble_message.c   messages: from, to, when, and whether they arrive
 *   ensemble_link.c      connections: what a server does with the messages of a client
 *   ensemble_watch.c     watches
 *   ensemble_host.c      hosts: runtimes, clocks, faults
 *   simulated_client.c   the client, in the host
 *
 * Everything happens in ensemble_happen_(), one event at a time; a message is an event that happens
 * as it arrives. Messages between the same two ends arrive in the order in which they were sent.
 *
 * The log is one array for all servers, because what two of them have logged differs only in how much:
 * a new leader is the one that has logged most, and what it has not is cut off. So a server is three
 * numbers: logged, known (to be committed) and applied. */
#ifndef VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_H
#define VOLT_CLUSTER_ENSEMBLE_ENSEMBLE_H

#include <volt/ensemble.h>

#include "../../core/os/check.h"
#include "ensemble_leader.h"
#include "ensemble_tree.h"

#define ENSEMBLE_NEVER UINT64_MAX

typedef struct ensemble_event {
  uint64_t at_ns;
  uint64_t order; /* of those at the same time */
  uint32_t place; /* in the heap, from 1; 0: not in it */
  void (*happen)(volt_ensemble *e, struct ensemble_event *event);
} ensemble_event;

struct volt_ensemble {
  volt_ensemble_config config;
  volt_ensemble_counts counts;
  uint64_t now_ns;
  uint64_t random;
  ensemble_event **heap;
  uint32_t heap_count, heap_size;
  uint64_t events_made;

  ensemble_server server[VOLT_ENSEMBLE_SERVERS_MAX];
  uint32_t leader; /* may have been given up by the others; VOLT_ENSEMBLE_NONE */
  uint64_t epoch;
  ensemble_event half_tick, whole_tick, election;

  ensemble_tree head; /* as proposed */
  struct ensemble_entry **log;
  uint64_t log_first, log_count, committed; /* entries log_first..log_count-1 are kept */
  uint32_t log_size;
  uint64_t transaction; /* the newest proposed */
  uint64_t write_free_ns;
  struct ensemble_session *sessions;
  uint64_t sessions_made, links_made;

  struct ensemble_host **host;
  uint32_t hosts;
  uint32_t ran;
};

void *ensemble_alloc_(size_t count, size_t size); /* all zero; aborts without memory */
void *ensemble_resize_(void *memory, size_t count, size_t size);
char *ensemble_copy_(const char *data, size_t size); /* NULL for NULL; terminated */
uint64_t ensemble_random_(volt_ensemble *e, uint64_t below);
uint64_t ensemble_hop_ns_(volt_ensemble *e);
void ensemble_at_(volt_ensemble *e, ensemble_event *event, uint64_t at_ns); /* again, too */
void ensemble_never_(volt_ensemble *e, ensemble_event *event);
void ensemble_trace_(volt_ensemble *e, const char *format, ...) VOLT_PRINTF_(2, 3);
#define ENSEMBLE_TRACE(e, ...) ((e)->config.traced ? ensemble_trace_((e), __VA_ARGS__) : (void)0)

#endif
