/* log.h: what the program says: its log, and the access log.
 *
 * No caller waits for a file: a line is formatted on the caller's stack and put into a ring; a
 * thread of the log's own writes it, within 10 ms. When the ring is full a line is dropped, counted,
 * and the count is written later. Before log_start() lines go to standard error at once.
 *
 * Text lines are logfmt, JSON lines an object each. Whatever comes from outside is escaped. */
#ifndef VOLTGATE_PROCESS_LOG_H
#define VOLTGATE_PROCESS_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "config/settings.h"

/* Begin to write by the log's own thread. Both are copied. Call it again to change where lines go,
 * how and what: lines from before are written as before. Returns VOLT_OK, or what failed
 * (VOLT_ERRNO(e)): nothing has changed; *what is the path that could not be opened, or words. */
int log_start(const struct log_settings *log, const struct log_settings *access, const char **what);

/* Open the files again, after they were rotated. May block: not on a worker. Returns as log_start();
 * a file that cannot be opened stays the old one. */
int log_reopen(const char **what);

/* Write all there is, and end the thread. Lines go to standard error at once from then on. */
void log_stop(void);

/* Wait until all lines from before are written. May block: not on a worker. */
void log_flush(void);

/* Say something. gate: its name, or NULL. Lines of a level that is not wanted cost a comparison. */
void log_line(enum log_level level, const char *gate, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Say on standard error, at once, what a person or a script waits for: "voltgate: gate main: ...".
 * It is a line of the log, too, if that goes elsewhere. May block for a second: not on a worker. */
void log_notice(const char *gate, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether lines of that level are written. */
bool log_wants(enum log_level level);

/* A connection that has ended. NULL: left out. Times in nanoseconds; UINT64_MAX: left out. */
struct access {
  const char *gate;
  const char *client; /* its address */
  const char *tenant, *user, *database;
  uint64_t wait_ns, hold_ns, age_ns;
  uint64_t permits, up, down; /* bytes */
  const char *end;            /* "client", "server", "left", "drain", "error", "refused" */
  const char *detail;         /* what follows "refused:" or "error:", or NULL */
};
void log_access(const struct access *a);
bool log_wants_access(void);

/* Lines that were dropped so far. */
uint64_t log_dropped(void);

#endif
