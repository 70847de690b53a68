/* zookeeper.h: the back end for ZooKeeper, on its single-threaded C client (3.5 or later).
 *
 *   zookeeper.c            the kind: open, connect, wait, process, destroy
 *   zookeeper_link.c       the client's handle, and which session it has
 *   zookeeper_socket.c     its socket, and the wait
 *   zookeeper_attempt.c    which server is tried, and when
 *   zookeeper_servers.c    the servers' names, and their addresses
 *   zookeeper_requests.c   requests, answers and watches
 *   zookeeper_close.c      the end of a session, without waiting in the client
 *   zookeeper_log.c        what the client says
 *
 * The driver's task calls everything here, and all callbacks of the client come from within its
 * calls. They only note what has come; zookeeper_deliver_() calls the user, outside of the lock.
 *
 * The lock. The client keeps process-wide state without a lock: the numbers of requests, the buffers
 * of its log and of addresses as text. So each call of the client, of whichever host of the process,
 * is made between zookeeper_enter_() and zookeeper_leave_(). No such call waits for anything.
 *
 * What the client does, and what is made of it (3.8.0; read, and tried by the tests)
 *   - zookeeper_interest() looks up names. It is given addresses only, one at a time.
 *   - Of an even number of servers it tries every second one only, and servers that differ in the
 *     port alone are the same one for zoo_set_servers(). So zookeeper_attempt.c chooses the server,
 *     and sets another address in between.
 *   - A send that fails closes the socket, but leaves what was outstanding in the queue, to be sent
 *     over the next connection. zookeeper_clear_() makes it complete everything first.
 *   - zookeeper_close() waits for the server. zookeeper_close.c gives it a socket that does not.
 *   - A completion that is NULL aborts. There is always one.
 *   - A client that has seen more than the ensemble (which was built anew) is refused by all
 *     servers, for ever. A session that no server takes back is given up after twice its time. */
#ifndef VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_H
#define VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_H

#include <volt/cluster_backend.h>
#include <volt/io.h>
#include <zookeeper/zookeeper.h>

#include "zookeeper_close.h"
#include "zookeeper_requests.h"
#include "zookeeper_servers.h"
#include "zookeeper_socket.h"

typedef struct zookeeper zookeeper; /* the back end: volt_cluster_backend to the user */

enum zookeeper_phase {
  ZOOKEEPER_IDLE,      /* no session is wanted */
  ZOOKEEPER_RESOLVING, /* names are looked up, or it is the pause after a round of attempts */
  ZOOKEEPER_TRYING,    /* one server is asked */
  ZOOKEEPER_CONNECTED
};

struct zookeeper {
  volt_rt *rt;
  volt_cluster_client client;
  char *chroot; /* "": none; "/path" */
  char *scheme; /* NULL: no auth */
  char *secret;
  char *tls;
  const struct ACL_vector *acl;
  int session_ms; /* as configured */
  zookeeper_servers servers;

  /* the client */
  zhandle_t *handle; /* NULL: none */
  enum zookeeper_phase phase;
  bool has_session;   /* of this handle */
  bool asks_auth;     /* it has not been answered */
  bool is_distrusted; /* the connection is to be given up */
  bool is_again;      /* process() has something to do at once */
  bool is_resolving;  /* the names are being looked up */
  bool is_closing;
  uint64_t session;
  uint64_t session_ns; /* as agreed */

  /* its socket */
  volt_fd socket;           /* a dup; all-zero, or -1: none */
  uint64_t socket_mark;     /* which socket it is a dup of */
  int number;               /* the client's own number of it */
  unsigned events;          /* POLLIN, POLLOUT: what the client waits for */
  uint64_t client_until_ns; /* when the client wants to be called */

  /* attempts */
  uint32_t server; /* the next of the addresses */
  uint32_t tried;  /* in this round */
  uint32_t stalls; /* connections that were given up, one after another, without an answer */
  uint32_t rounds; /* without success */
  uint64_t pause_until_ns;
  uint64_t asked_ns; /* when this attempt began */
  uint64_t heard_ns; /* when a server has last said something */
  uint64_t away_ns;  /* since when; 0: not */
  bool has_complained;
  char at[ZOOKEEPER_ADDRESS_TEXT]; /* the server that is asked, as the client wants it */
  char why[160];                   /* the last connection was lost, as the client said */

  /* requests */
  zookeeper_queue sent;
  zookeeper_queue done;
  uint32_t *fired; /* watches */
  uint32_t fired_count;
  uint32_t fired_room;

  zookeeper_waits wait;
  volt_fd timer;
  uint64_t until_ns; /* the user's */
  zookeeper_closing close;

  char said[1024]; /* by the client, in this call */
  size_t said_size;
};

#endif
