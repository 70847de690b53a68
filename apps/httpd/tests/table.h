/* table.h: requests.table, and a site to run it on without files and sockets. */
#ifndef HTTPD_TEST_TABLE_H
#define HTTPD_TEST_TABLE_H

#include "session.h"

#define TABLE_NOW INT64_C(1700000000)
#define TABLE_BYTES_MAX 32768

extern const struct terms table_terms;

struct table_row {
  unsigned line;      /* in the file */
  char expected[128]; /* "200 200 keep" */
  char section[16];
  char bytes[TABLE_BYTES_MAX];
  size_t count;
};

/* Open apps/httpd/tests/requests.table, in the current directory, and read its rows one by one. */
void *table_open(void);
bool table_next(void *table, struct table_row *row);
void table_close(void *table);

/* What the site of the table has for a path: a status, and with 200 the resource. */
int site_find(const struct request *r, struct resource *resource);

/* ---- a connection without a descriptor ---- */

/* What a connection was answered: a list as in the table, and all bytes. On the way it is checked
 * that each answer has the fields that it must have. */
struct exchange {
  char outcome[128];
  char *bytes;
  size_t count;
  const char *wrong; /* NULL, or what a server must not do */
};

/* Send bytes in pieces of at most `piece`. */
void exchange_run(struct exchange *x, const char *bytes, size_t count, size_t piece);
void exchange_free(struct exchange *x);

#endif
