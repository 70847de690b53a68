/* admin.h: the HTTP side of a voltgate that runs, and the commands that ask it.
 *
 *   struct admin *admin;
 *   int result = admin_start(&admin, program, settings->metrics, -1);
 *   ... "voltgate: admin on %s", admin_address(admin)
 *   admin_stop(admin);
 *
 * It reads the gates, and changes them as it is asked to; no gate knows of it. What takes long it
 * does on the runtime's blocking pool, so that no worker waits while it counts or writes text. */
#ifndef VOLTGATE_ADMIN_ADMIN_H
#define VOLTGATE_ADMIN_ADMIN_H

#include "config/command.h"

struct admin;
struct program;

/* Start to serve on p->rt. Call it before the sandbox closes the file system: it opens what it
 * reads of /proc.
 * p: it and its gates stay until admin_stop() has returned; p->settings is read for each request,
 *   so a token that changes holds at once. address: as settings.metrics; copied. number: a socket
 *   that listens already, and is taken over if the result is VOLT_OK; -1: it listens at the address.
 * Returns VOLT_OK; VOLT_EINVAL: it is no address; VOLT_ENOMEM; VOLT_ERRNO(e), as EADDRINUSE. Then
 *   *out is NULL. Threads: any. */
int admin_start(struct admin **out, struct program *p, const char *address, int number);

/* Where it listens, as text; a port of 0 is resolved. */
const char *admin_address(const struct admin *a);

/* The socket that listens, for a later process that takes over. */
int admin_number(const struct admin *a);

/* Whether it is another process's, too: then the path of a unix socket is not removed in the end. */
void admin_keep_path(struct admin *a, bool keeps);

/* Stop to listen, end what is under way, free all. Blocks until a request that is at work on the
 * blocking pool has ended. a: NULL is fine. Threads: one, which is no worker. */
void admin_stop(struct admin *a);

/* Run a command that asks a running voltgate: COMMAND_TOP, _LIMIT, _RELOAD, _DRAIN, _STATUS. Returns
 * the exit code: 0 done, 1 not done (the reason is on standard error). */
int admin_command(enum command_kind kind, const struct client_settings *c);

#endif
