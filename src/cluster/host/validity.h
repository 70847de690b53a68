/* validity.h: until when the leases of a session are valid: a sum over answered requests. Pure. */
#ifndef VOLT_CLUSTER_HOST_VALIDITY_H
#define VOLT_CLUSTER_HOST_VALIDITY_H

#include <stdbool.h>
#include <stdint.h>

enum { VALIDITY_RING = 64 };

/* Answered requests, the oldest first. */
typedef struct validity_ring {
  uint32_t first;
  uint32_t count;
  struct {
    uint64_t sent_ns;
    uint64_t answered_ns;
  } at[VALIDITY_RING];
} validity_ring;

/* All times by the clock of valid_until. */
typedef struct cluster_validity {
  uint64_t session_ns;
  uint64_t write_ns; /* when the newest answered write was sent; 0: none */
  uint64_t known_ns; /* the leader of the ensemble has heard of the session since */
  uint64_t bar_ns;   /* when the newest write was sent that was answered before write_ns; 0: none */
  validity_ring writes; /* those that were not answered before write_ns */
  validity_ring heard;  /* requests that the leader may not have heard of */
} cluster_validity;

/* A new session. since_ns: when the client had not yet asked for it. */
void validity_begin_(cluster_validity *v, uint64_t session_ns, uint64_t since_ns);

/* The same session has another connection. */
void validity_again_(cluster_validity *v, uint64_t session_ns, uint64_t since_ns);

/* A request of this session was answered: a read, or a write that failed. */
void validity_heard_(cluster_validity *v, uint64_t sent_ns, uint64_t answered_ns);

/* A write of this session was answered with VOLT_OK. */
void validity_wrote_(cluster_validity *v, uint64_t sent_ns, uint64_t answered_ns);

/* Until when. 0: nothing is known. */
uint64_t validity_until_(const cluster_validity *v);

#endif
