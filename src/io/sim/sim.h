/* sim.h: the parts of the simulated network.
 *
 * One thread uses all of a network: the one that runs its runtime. A socket has a number, as a file
 * descriptor has, from a range that the system does not use; the table of numbers is of the
 * process, so it has a lock.
 *
 * A connection has two flows, one for each direction. A flow is a ring of bytes and three counts:
 *   taken <= arrived <= sent <= taken + size
 * What was sent arrives later: each send makes a mark, that all up to `sent` arrives at a time, or
 * that the end of the stream does. Marks arrive in order. One timer of the runtime runs for each
 * flow, for its first mark. */
#ifndef VOLT_IO_SIM_SIM_H
#define VOLT_IO_SIM_SIM_H

#include <netinet/in.h>
#include <sys/un.h>
#include <volt/simulated.h>

#include "../op/backend.h"
#include "../sys/sys.h"

typedef struct volt_sim_net_ {
  volt_io_ io; /* first */
  volt_simulated_faults faults;
  uint64_t random;
  uint64_t open;                /* sockets with a number */
  struct volt_sim_socket_ *all; /* with a number, or in a backlog */
  uint16_t next_port;
} volt_sim_net_;

enum { VOLT_SIM_MARKS_ = 64 };

typedef struct volt_sim_mark_ {
  uint64_t upto;
  uint64_t at_ns;
  bool is_end;
} volt_sim_mark_;

typedef struct volt_sim_flow_ {
  struct volt_sim_conn_ *conn;
  uint8_t *bytes;
  size_t size;
  uint64_t sent, arrived, taken;
  volt_sim_mark_ mark[VOLT_SIM_MARKS_];
  unsigned first_mark, marks;
  bool is_ended;     /* its sender sends no more */
  bool end_arrived;  /* and its receiver knows */
  volt_timer timer;  /* of the first mark */
  unsigned receiver; /* which side */
} volt_sim_flow_;

typedef struct volt_sim_conn_ {
  volt_sim_net_ *net;
  volt_sim_flow_ flow[2];           /* flow[i] is received by side[i] */
  struct volt_sim_socket_ *side[2]; /* NULL: closed */
  bool is_reset;
} volt_sim_conn_;

typedef struct volt_sim_datagram_ {
  struct volt_sim_datagram_ *next;
  uint64_t at_ns;
  struct sockaddr_storage from;
  socklen_t from_size;
  size_t size;
  uint8_t bytes[];
} volt_sim_datagram_;

typedef enum volt_sim_state_ {
  VOLT_SIM_IDLE_,
  VOLT_SIM_LISTENS_,
  VOLT_SIM_CONNECTS_,
  VOLT_SIM_REFUSED_, /* a connect() has failed, and connected() is to say so */
  VOLT_SIM_CONNECTED_
} volt_sim_state_;

typedef struct volt_sim_socket_ {
  volt_sim_net_ *net;
  int number;     /* -1: in a backlog */
  volt_fd *watch; /* reported to as it becomes ready; or NULL */
  int domain, type;
  volt_sim_state_ state;
  struct sockaddr_storage local, peer;
  socklen_t local_size, peer_size; /* 0: none */
  volt_sim_conn_ *conn;
  unsigned side;
  bool reads_no_more;
  int error;                                             /* to be returned once; errno value */
  struct volt_sim_socket_ *backlog_first, *backlog_last; /* of a listener */
  unsigned backlog, backlog_max;
  struct volt_sim_socket_ *next_queued;
  volt_sim_datagram_ *datagrams; /* by the time at which they arrive */
  size_t datagram_bytes;
  volt_timer timer; /* of a connect, or of the first datagram that has not arrived */
  struct volt_sim_socket_ *next, **here; /* in net->all */
} volt_sim_socket_;

/* ---- simulated.c ---- */

static inline bool volt_sim_is_number_(int number) {
  return number >= 1 << 24;
}

/* The socket of that number; NULL: none. */
volt_sim_socket_ *volt_sim_find_(int number);

/* Returns 0, or a negative errno. */
int volt_sim_give_number_(volt_sim_socket_ *s);

void volt_sim_take_number_(volt_sim_socket_ *s);

/* Whether something happens this time that happens so many times in a million. */
bool volt_sim_happens_(volt_sim_net_ *net, uint32_t per_million);

/* A number of 0 to below - 1. */
uint64_t volt_sim_random_(volt_sim_net_ *net, uint64_t below);

/* When something that is sent now arrives. */
uint64_t volt_sim_arrival_ns_(volt_sim_net_ *net);

static inline uint64_t volt_sim_now_ns_(volt_sim_net_ *net) {
  return volt_rt_now_ns(net->io.rt);
}

/* Report it to the descriptor. s may be NULL. */
void volt_sim_became_ready_(volt_sim_socket_ *s, uint32_t bits);

/* ---- sim_socket.c: the system calls ---- */

extern const volt_sys_ volt_sys_simulated_;

volt_sim_socket_ *volt_sim_socket_new_(volt_sim_net_ *net, int domain, int type);
void volt_sim_socket_free_(volt_sim_socket_ *s);

/* What it is ready for. */
uint32_t volt_sim_ready_(volt_sim_socket_ *s);

/* The socket of that type which has that address and, of a stream, listens; NULL: none. */
volt_sim_socket_ *volt_sim_find_address_(volt_sim_net_ *net, int type, const void *address,
                                         socklen_t size);

/* ---- sim_stream.c: connections ---- */

int volt_sim_connect_(volt_sim_socket_ *s, const struct sockaddr *to, socklen_t size);
ssize_t volt_sim_stream_recv_(volt_sim_socket_ *s, void *to, size_t size, bool peeks);
ssize_t volt_sim_stream_send_(volt_sim_socket_ *s, const void *from, size_t size);
uint32_t volt_sim_stream_ready_(volt_sim_socket_ *s);
int volt_sim_stream_shutdown_(volt_sim_socket_ *s, int how);

/* Connect two sockets. Returns false: no memory. */
bool volt_sim_conn_make_(volt_sim_socket_ *client, volt_sim_socket_ *server);

/* s is closed: end its connection. */
void volt_sim_stream_close_(volt_sim_socket_ *s);

void volt_sim_conn_reset_(volt_sim_conn_ *conn);

/* ---- sim_datagram.c ---- */

ssize_t volt_sim_datagram_recv_(volt_sim_socket_ *s, struct msghdr *message, int flags);
ssize_t volt_sim_datagram_send_(volt_sim_socket_ *s, const struct msghdr *message);
uint32_t volt_sim_datagram_ready_(volt_sim_socket_ *s);
void volt_sim_datagram_close_(volt_sim_socket_ *s);

#endif
