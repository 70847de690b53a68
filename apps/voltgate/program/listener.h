/* listener.h: an address that a gate listens at. */
#ifndef VOLTGATE_PROGRAM_LISTENER_H
#define VOLTGATE_PROGRAM_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <volt/net.h>
#include <volt/task.h>

struct systemd_listeners;

/* Sockets that come from another process: each listens for a gate. */
struct inherited {
  char *gate;    /* its name */
  char *text;    /* the address, as it was configured */
  char *address; /* as it is */
  int number;    /* -1: it was taken from here */
};
struct inheritance {
  struct systemd_listeners *systemd; /* for "fd:NAME", or NULL */
  struct inherited *sockets;         /* or NULL */
  size_t count;
};

struct listener {
  char *text;                      /* as configured */
  char address[VOLT_ADDRESS_TEXT]; /* as it is: a port of 0 is resolved */
  int number;                      /* the socket; -1: closed */
  char *path;                      /* of a unix socket that is removed with it, or NULL */
  bool is_lent;                    /* another process may listen there, too: the path stays */
  bool is_accepting;               /* its acceptor owns the socket */
  volt_group_member acceptor;
};

/* Listen, or take a socket that was inherited. rt: makes the socket, which is detached from it. Returns
 * NULL, or what is wrong: words that the caller frees; then *l has nothing. */
char *listener_open(struct listener *l, volt_rt *rt, const char *gate, const char *text,
                    struct inheritance *from);

/* Close it, if no acceptor has it, and free what it has. The path is removed, if it is not lent. */
void listener_close(struct listener *l);

#endif
