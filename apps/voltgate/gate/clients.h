/* clients.h: the clients of a gate, to be looked at. */
#ifndef VOLTGATE_GATE_CLIENTS_H
#define VOLTGATE_GATE_CLIENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <volt/net.h>

struct tenant;

enum client_state { CLIENT_LOGIN, CLIENT_IDLE, CLIENT_QUEUED, CLIENT_HOLDS };

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

/* One that is queued. */
struct queued {
  uint64_t ticket, since_ns, deadline_ns;
  char tenant[64];
  char address[VOLT_ADDRESS_TEXT];
};

/* Copy the room oldest that are queued, in the order of their tickets. Returns how many. Any
 * thread; it holds one shard's lock at a time. */
size_t clients_queued(struct clients *c, struct queued *to, size_t room);

#endif
