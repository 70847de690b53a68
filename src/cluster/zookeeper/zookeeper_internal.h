/* zookeeper_internal.h: the back end for ZooKeeper, on its single-threaded C client (3.5 or later).
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
#ifndef VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_INTERNAL_H
#define VOLT_CLUSTER_ZOOKEEPER_ZOOKEEPER_INTERNAL_H

#include <volt/async.h>
#include <volt/cluster_backend.h>
#include <volt/io.h>
#include <volt/net.h>
#include <volt/select.h>
#include <zookeeper/zookeeper.h>

#include "../../core/os/check.h"

enum { ZOOKEEPER_ADDRESS_TEXT = 96 };

typedef struct zookeeper zookeeper; /* the back end: volt_cluster_backend to the user */

/* What a request needs beside itself: its of_backend. */
typedef struct zookeeper_call {
  zookeeper *backend;
  volt_cluster_request *request;
  struct Stat stat;
  struct String_vector names; /* taken from the client */
  char *data;                 /* a copy */
  zoo_op_result_t results[];  /* WRITE */
} zookeeper_call;

/* Requests that are with the client, or that are answered and not delivered, in order. */
typedef struct zookeeper_queue {
  volt_cluster_request *first;
  volt_cluster_request *last;
} zookeeper_queue;

/* The servers: as configured, and as looked up. */
typedef struct zookeeper_servers {
  volt_async async;
  volt_rt *rt;
  char **names; /* "host:port" */
  uint32_t name_count;
  int result;
  struct zookeeper_lookup *lookup; /* that is under way */
  volt_future joined;              /* its end */
  volt_address *addresses;         /* in the order in which to try them */
  uint32_t count;
  uint64_t random;
  const char *failed; /* the name that was not found last; NULL: none */
  char why[80];
} zookeeper_servers;

enum zookeeper_phase {
  ZOOKEEPER_IDLE,      /* no session is wanted */
  ZOOKEEPER_RESOLVING, /* names are looked up, or it is the pause after a round of attempts */
  ZOOKEEPER_TRYING,    /* one server is asked */
  ZOOKEEPER_CONNECTED
};

/* The wait, and what stays pending from one to the next. */
typedef struct zookeeper_waits {
  volt_async async;
  volt_select select;
  volt_future *branches[3];
  volt_op socket_op;
  volt_op timer_op;
  unsigned socket_armed; /* for these events; 0: not armed */
  bool is_timer_armed;
  uint64_t timer_at_ns; /* what it is set to */
  uint64_t due_ns;      /* of this wait; 0: it is ready */
} zookeeper_waits;

/* The end of the session. */
typedef struct zookeeper_closing {
  volt_async async;
  volt_timeout timeout;
  volt_op op;
  uint64_t until_ns; /* on the runtime's clock */
  int32_t xid;
  int result;
  uint32_t skip; /* of the answer to another request */
  size_t count;
  unsigned char bytes[256];
} zookeeper_closing;

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

/* Of zookeeper_log.c. zookeeper_log_line_() is for our own lines: what for printf. */
void zookeeper_enter_(zookeeper *b);
void zookeeper_leave_(zookeeper *b);
void zookeeper_log_line_(const zookeeper *b, enum volt_cluster_level level, const char *format, ...)
    VOLT_PRINTF_(3, 4);
void zookeeper_heed_(const char *line); /* the client's log_callback_fn */

/* Of zookeeper_servers.c. */
int zookeeper_servers_init_(zookeeper_servers *s, volt_rt *rt, const char *servers, size_t size);
void zookeeper_servers_free_(zookeeper_servers *s);
volt_future *zookeeper_servers_future_(zookeeper_servers *s);
/* As the client wants it: without brackets. */
void zookeeper_address_text_(const volt_address *a, char to[ZOOKEEPER_ADDRESS_TEXT]);
uint64_t zookeeper_random_(zookeeper_servers *s);

/* Of zookeeper_link.c. */
uint64_t zookeeper_now_ns_(void);
bool zookeeper_link_open_(zookeeper *b); /* a new handle, for b->at */
/* What the client waits for now: it may begin to connect. Returns whether it makes a pause before. */
bool zookeeper_link_ask_(zookeeper *b);
void zookeeper_link_receive_(zookeeper *b);
/* Note what has become of the connection, and say it to the user. Returns whether it is another
 * phase now. */
bool zookeeper_link_check_(zookeeper *b);
/* Whether zookeeper_link_check_() would find something. */
bool zookeeper_link_has_changed_(const zookeeper *b);
bool zookeeper_is_up_(const zookeeper *b);     /* says the client */
bool zookeeper_is_trying_(const zookeeper *b); /* or is up */
void zookeeper_link_drop_(zookeeper *b, const char *why);
void zookeeper_link_free_(zookeeper *b);
void zookeeper_session_end_(zookeeper *b, enum volt_cluster_session_event event, const char *why);
void zookeeper_server_set_(zookeeper *b, const char *at);

/* Of zookeeper_socket.c. */
bool zookeeper_socket_set_(zookeeper *b, int number); /* false: no descriptor */
void zookeeper_socket_close_(zookeeper *b);
volt_future *zookeeper_wait_future_(zookeeper *b);
void zookeeper_wait_end_(zookeeper *b);

/* Of zookeeper_attempt.c. */
void zookeeper_attempt_(zookeeper *b); /* go on with it */
uint64_t zookeeper_attempt_due_ns_(const zookeeper *b);
void zookeeper_attempt_first_(zookeeper *b); /* of a session */
void zookeeper_attempt_again_(zookeeper *b); /* when a connection was lost */

/* Of zookeeper_requests.c. */
void zookeeper_submit_(zookeeper *b, volt_cluster_request *r);
void zookeeper_deliver_(zookeeper *b);
void zookeeper_watcher_(zhandle_t *handle, int type, int state, const char *path, void *ctx);
bool zookeeper_has_news_(const zookeeper *b);
/* There is no client any more: what it had is answered as when it closes. */
void zookeeper_abandon_(zookeeper *b);

/* Of zookeeper_close.c. */
volt_future *zookeeper_close_future_(zookeeper *b);

#endif
