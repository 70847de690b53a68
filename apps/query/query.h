/* query.h: the parts of volt-query. */
#ifndef VOLT_APPS_QUERY_H
#define VOLT_APPS_QUERY_H

#include <stdbool.h>
#include <volt/runtime.h>

/* ---- query.c ---- */

/* Run one statement. Returns VOLT_OK; VOLT_ETIMEDOUT: no connection was free in time; or what
 * run_on_a_connection() returns. */
int query(const char *sql);

/* ---- connections.c ---- */

/* Connections are opened as they are needed. server: as PostgreSQL's clients take it, "host=...
 * port=..."; it must stay. */
void connections_begin(volt_rt *rt, const char *server);

/* Run one statement on a connection that is free: there is one, because the caller has a permit.
 * Returns VOLT_OK; VOLT_ECANCELED; VOLT_ERRNO(EPROTO): the server refuses the statement or the
 * connection, which is printed. */
int run_on_a_connection(const char *sql);

/* How many statements have run at the same time, at most. */
unsigned connections_peak(void);

/* Close all; no statement runs. */
void connections_end(void);

#endif
