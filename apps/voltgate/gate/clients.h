/* clients.h: the clients of a gate, to be looked at. */
#ifndef VOLTGATE_GATE_CLIENTS_H
#define VOLTGATE_GATE_CLIENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <volt/net.h>

struct tenant;

enum client_state { CLIENT_LOGIN, CLIENT_IDLE, CLIENT_QUEUED, CLIENT_HOLDS };

/* What a client does with its permit. */
enum client_work {
  CLIENT_CONNECTING, /* to the server */
  CLIENT_CONNECTED,  /* more is not known: its bytes are not followed */
  CLIENT_ACTIVE,     /* the server works for it */
  CLIENT_RESTS       /* the server waits for it, in a transaction */
};

/* What is known of a client that is connected to the server. It is the session's, which alone writes
 * it; a thread that looks at clients sees a snapshot. All-zero at first. */
struct client_details {
  const char *user, *database;                 /* NULL: not known */
  atomic_uint_fast64_t up, down;               /* bytes that were passed on */
  atomic_uint_fast64_t up_before, down_before; /* the same, when it got its permit */
  atomic_uint_fast64_t asked_ns, rests_ns; /* when its last statement began, when its last rest did;
                                            * 0: none has */
  atomic_uchar work;                       /* enum client_work */
};

/* A client that is connected: a part of its session. */
struct client {
  struct client *next, *previous; /* in its shard, under the shard's lock */
  struct tenant
      *tenant; /* NULL: the gate has none. Set before it is first QUEUED or HOLDS, and given
                          * back after clients_remove() */
  atomic_uint_fast64_t ticket;      /* of its place in the queue */
  atomic_uint_fast64_t since_ns;    /* when the state began; admission's own while QUEUED, HOLDS */
  atomic_uint_fast64_t deadline_ns; /* of its place in the queue; 0: none */
  uint64_t accepted_ns;
  _Atomic(const struct client_details *)
      details; /* NULL: it is not connected to the server yet. They
                                                   * stay until clients_remove() */
  struct sockaddr_storage_small {
    unsigned char family; /* AF_INET, AF_INET6, AF_UNIX */
    uint16_t port;        /* of the client */
    unsigned char bytes[16];
  } address;
  atomic_uchar state; /* enum client_state */
  uint8_t shard;
};

enum { CLIENTS_SHARDS = 16 };
struct clients {
  struct clients_shard {
    _Alignas(64) pthread_mutex_t lock;
    struct client *first;
  } shards[CLIENTS_SHARDS];
  atomic_uint count; /* connected */
  atomic_uint turn;  /* of the shards */
};

void clients_init(struct clients *c);
void clients_destroy(struct clients *c); /* none may be left */
void clients_add(struct clients *c, struct client *one);
void clients_remove(struct clients *c, struct client *one);

/* Its address as text: "127.0.0.1:5123", "[::1]:5123", "unix". */
void client_address_set(struct client *one, const volt_address *address);
const char *client_address_text(const struct client *one, char to[VOLT_ADDRESS_TEXT]);

/* The client has got its permit, and its first statement begins. */
void client_begins(struct client_details *d, uint64_t now_ns);

/* It rests in its transaction from now on, or its next statement has begun. */
void client_rests(struct client_details *d, bool rests, uint64_t now_ns);

/* A client as it was when it was looked at. */
struct client_seen {
  uint64_t order; /* of two the smaller is the older */
  uint64_t ticket, since_ns, deadline_ns;
  uint64_t asked_ns, rests_ns, up, down; /* of one that holds a permit; bytes since it does */
  enum client_work work;
  char tenant[64], user[64], database[64];
  char address[VOLT_ADDRESS_TEXT];
};

/* Copy the room oldest in that state: those that are queued in the order of their tickets, those that
 * hold a permit in the order in which they have got it. Returns how many. Any thread; it holds one
 * shard's lock at a time. */
size_t clients_oldest(struct clients *c, enum client_state state, struct client_seen *to,
                      size_t room);

#endif
