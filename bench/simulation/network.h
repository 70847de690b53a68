/* network.h: a simulated kernel that knows sets of what may become ready, as epoll does, and simulated
 * clients, each with a connection. network.c.
 *
 * A client sends a request, gets an answer, and sends the next one: at once, but for the way and its own
 * work (closed loop). Or requests come at a rate, whatever was answered (open loop). The kernel runs on
 * no core of the machine until it wakes a thread that sleeps there. */
#ifndef VOLT_SIMULATION_NETWORK_H
#define VOLT_SIMULATION_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

/* Of a run: first some requests to warm up, then those that count, then none, then nothing can come
 * any more. */
typedef enum net_stage { NET_BEGINS, NET_ENDS, NET_IS_QUIET, NET_CLOSES } net_stage;

typedef struct net_setup {
  unsigned connections, sets;
  uint64_t warm_up, operations; /* of all connections */
  double rate;                  /* requests a second, of all; 0: closed loop */
  double way_ns;                /* closed loop: from an answer to the next request and back */
  double client_ns;             /* closed loop: work of a client for a request */
  unsigned clients;             /* cores of the clients: each works for its connections by turns */
  double compute_ns;            /* net_compute() */
  uint64_t lose; /* nobody is told of the request of that number, from 1 on; 0: of all */
  void (*stage)(void *ctx, net_stage stage);
  void *ctx;
} net_setup;

typedef struct net_event {
  bool is_bell;
  uint32_t name; /* of the bell, or of the connection */
} net_event;

enum { NET_EVENTS = 64 }; /* at most, of one look */

/* Of the requests that count. */
typedef struct net_says {
  uint64_t operations;
  uint64_t woken;                    /* threads, by what came while they slept in a set */
  uint64_t batches;                  /* receives that have got something */
  uint64_t computed;                 /* net_compute() */
  double window_ns;                  /* from the first to the last answer */
  double computing_ns;               /* of that, on all cores */
  double p50_ns, p99_ns, longest_ns; /* from the arrival of a request until it is answered */
  double delay_ns;                   /* the longest, from the arrival until it is received */
} net_says;

/* The waits of a connection's requests begin when its task no more computes for itself. */

void net_begin(const net_setup *s);
void net_watch(unsigned set, unsigned connection);
void net_watch_bell(unsigned set, unsigned bell);
void net_start(void);

/* What is ready in that set, taken off; if nothing is, sleep until something is, or until that
 * deadline, as volt_now_ns(); 0: do not sleep. */
unsigned net_look(unsigned set, net_event events[NET_EVENTS], uint64_t deadline_ns);
void net_ring(unsigned bell);

/* How many requests there were: 0: none now; -1: the client has closed. All are answered by one
 * net_send(). */
int net_receive(unsigned connection);
void net_send(unsigned connection);

/* The connection's task computes, unless another does: so all other workers are there for the rest. */
void net_compute(unsigned connection);

/* Fails unless each request was received and answered once, and each connection was closed. */
net_says net_end(void);

#endif
