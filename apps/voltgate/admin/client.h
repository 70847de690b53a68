/* client.h: ask a running voltgate by HTTP, over TCP or a unix socket. One thread; each question is
 * answered, or has failed, within its time. */
#ifndef VOLTGATE_ADMIN_CLIENT_H
#define VOLTGATE_ADMIN_CLIENT_H

#include <stddef.h>
#include <volt/io.h>
#if VOLTGATE_JANSSON
#include <jansson.h>
#endif

#include "admin/output.h"
#include "config/command.h"

enum { CLIENT_ANSWER_MAX = 32 * 1024 * 1024, CLIENT_WHY_MAX = 256 };

/* All-zero but settings at first. */
struct client_link {
  const struct client_settings *settings;
  volt_rt *rt; /* by hand */
  volt_fd fd;
  bool is_open;
  int status;           /* of the last answer */
  struct output answer; /* its body */
  char why[CLIENT_WHY_MAX];
};

/* Ask. method: "GET", "PUT", "POST". path: with a slash, encoded. body: NULL: none.
 * Returns true: link->status and link->answer are there; false: there is no answer, link->why says
 * why. */
bool admin_client_ask(struct client_link *link, const char *method, const char *path,
                      const char *body, uint64_t within_ns);

/* Write a name as a part of a path or a query. */
void admin_client_encode(struct output *to, const char *name);

void admin_client_close(struct client_link *link);

#if VOLTGATE_JANSSON
/* Read an answer. Returns NULL: it is no JSON object. The caller calls json_decref(). */
json_t *admin_client_json(const char *bytes, size_t size);

/* A path names members of objects within each other: "last.wait_s.p99". What is not there is 0, "", or
 * NULL. */
json_t *admin_client_json_at(const json_t *object, const char *path);
double admin_client_json_number_at(const json_t *object, const char *path);
const char *admin_client_json_text_at(const json_t *object, const char *path);
#endif

#endif
