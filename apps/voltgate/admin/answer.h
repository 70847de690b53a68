/* answer.h: what is answered to a request. */
#ifndef VOLTGATE_ADMIN_ANSWER_H
#define VOLTGATE_ADMIN_ANSWER_H

#include "admin/history.h"
#include "admin/output.h"
#include "admin/resources.h"
#include "common/http/request.h"

enum { ANSWER_HEAD_MAX = 1024, PAGE_POLICY_MAX = 512 };

/* What answers are made of. */
struct answers {
  struct program *program;
  struct history history;
  struct resources resources;
  char own_name[256];                /* a host that is ours; "": none */
  char page_policy[PAGE_POLICY_MAX]; /* Content-Security-Policy of the page */
};

enum route {
  ROUTE_NONE,
  ROUTE_PAGE,
  ROUTE_METRICS,
  ROUTE_STATUS,
  ROUTE_QUEUE,
  ROUTE_HOLDERS,
  ROUTE_HISTORY,
  ROUTE_HEALTH,
  ROUTE_DUMP, /* from here on with the token: addresses help those that break in */
  ROUTE_SET_LIMIT,
  ROUTE_SET_QUEUE,
  ROUTE_SET_TENANT,
  ROUTE_SET_KIND,
  ROUTE_RELOAD,
  ROUTE_DRAIN
};

/* All-zero at first. */
struct answer {
  struct answers *from;
  const char *client; /* that asks, for the log */
  enum route route;
  struct gate *gate;
  const char *tenant; /* in the request */
  const char *kind;   /* the same */
  uint64_t number;    /* what is to be set; how many are to be shown */
  uint64_t since_ns;
  bool is_each;   /* of the dump: every task by itself */
  bool is_of_one; /* of the status: tenants of one gate, or of none */
  int status;
  const char *type, *allow;
  struct output text;
  bool is_head;
  bool
      drains; /* when it was sent: without clients the program ends at once, and its answers, too */
};

void admin_answers_init(struct answers *from, struct program *p);
void admin_answers_destroy(struct answers *from);

/* Begin to answer. r, body: in use until the answer is sent. Returns true: admin_answer_work() has to be
 * called, on a thread that may block; false: the answer is there. */
bool admin_answer_begin(struct answer *a, struct answers *from, const struct request *r,
                        struct text body);

/* Do what takes long. */
void admin_answer_work(struct answer *a);

/* Answer with a status, and words that say why, as JSON. Forgets what was there. */
void admin_answer_fail(struct answer *a, int status, const char *words);

/* Write the head. closes: the connection ends after it. Returns how many bytes. */
size_t admin_answer_head(const struct answer *a, char to[ANSWER_HEAD_MAX], int64_t now_s,
                         bool closes);

/* What follows the head. */
struct text admin_answer_body(const struct answer *a);

/* It was sent, or cannot be: begin to drain, if that was asked for. Makes it all-zero again. */
void admin_answer_end(struct answer *a);

#endif
