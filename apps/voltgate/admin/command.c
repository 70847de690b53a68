/* command.c: limit, reload, drain, status, dump. */
#include "admin/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if VOLTGATE_JANSSON
#include "admin/client.h"
#include "admin/screen.h"
#include "admin/top.h"

#define WITHIN_NS UINT64_C(30000000000) /* a reload may read files and look up names */

/* Asks, and says why there is no answer. */
static bool admin_command_ask_text(struct client_link *link, const char *method, const char *path,
                                   const char *body) {
  bool is_there = admin_client_ask(link, method, path, body, WITHIN_NS);
  if (!is_there) fprintf(stderr, "voltgate: %s\n", link->why);
  return is_there;
}

/* Reads the answer as JSON, and says what is wrong with it. Returns it, to be freed, or NULL. */
static json_t *admin_command_read_answer(struct client_link *link) {
  json_t *answer = admin_client_json(link->answer.at, link->answer.size);
  if (answer == NULL) {
    fprintf(stderr, "voltgate: %s: this is no voltgate: status %d\n", link->settings->admin,
            link->status);
    return NULL;
  }
  if (link->status == 200) return answer;
  bool lacks_token = link->status == 401 && link->settings->token == NULL;
  fprintf(stderr, "voltgate: %s\n",
          lacks_token           ? "this needs the token: --token-file FILE, or VOLTGATE_TOKEN"
          : link->status == 401 ? "the token is not the one that this voltgate was given"
                                : admin_client_json_text_at(answer, "error"));
  json_decref(answer);
  return NULL;
}

static json_t *admin_command_ask(struct client_link *link, const char *method, const char *path,
                                 const char *body) {
  return admin_command_ask_text(link, method, path, body) ? admin_command_read_answer(link) : NULL;
}

static bool admin_command_say_dump(struct client_link *link) {
  if (!admin_command_ask_text(link, "GET", link->settings->is_each ? "/dump?each=1" : "/dump",
                              NULL))
    return false;
  if (link->status != 200) json_decref(admin_command_read_answer(link));
  return link->status == 200 &&
         fwrite(link->answer.at, 1, link->answer.size, stdout) == link->answer.size;
}

/* Of a permit gate. */
static json_t *admin_command_set_kind(struct client_link *link) {
  const struct permit_amount *one = &link->settings->kind.of[0];
  struct output path = {.size = 0};
  char body[32];
  OUTPUT(&path, "/gates/");
  admin_client_encode(&path, link->settings->gate);
  OUTPUT(&path, "/kinds/");
  output_bytes(&path, one->kind, strlen(one->kind) + 1);
  snprintf(body, sizeof body, "%" PRIu64, one->amount);
  json_t *answer = path.is_cut ? NULL : admin_command_ask(link, "PUT", path.at, body);
  output_free(&path);
  if (answer == NULL) return NULL;
  double excess = admin_client_json_number_at(answer, "excess");
  printf("gate %s: %s %.0f", admin_client_json_text_at(answer, "gate"),
         admin_client_json_text_at(answer, "kind"), admin_client_json_number_at(answer, "limit"));
  if (excess > 0) {
    printf(", %.0f are held: %.0f above it", admin_client_json_number_at(answer, "held"), excess);
  }
  puts("");
  return answer;
}

static json_t *admin_command_set_limit(struct client_link *link) {
  if (link->settings->kind.count > 0) return admin_command_set_kind(link);
  struct output path = {.size = 0};
  char body[16];
  OUTPUT(&path, "/gates/");
  admin_client_encode(&path, link->settings->gate);
  output_bytes(&path, "/limit", sizeof "/limit"); /* with the zero */
  snprintf(body, sizeof body, "%u", (unsigned)link->settings->limit);
  json_t *answer = path.is_cut ? NULL : admin_command_ask(link, "PUT", path.at, body);
  output_free(&path);
  if (answer == NULL) return NULL;
  printf("gate %s: limit %.0f\n", admin_client_json_text_at(answer, "gate"),
         admin_client_json_number_at(answer, "limit"));
  double excess = admin_client_json_number_at(answer, "excess");
  if (excess > 0)
    printf("%.0f permits above it are still held: no client is admitted before they are back\n",
           excess);
  return answer;
}

/* What is held of a permit gate. Returns false: it is none. */
static bool admin_command_say_kinds(const json_t *g) {
  const json_t *kinds = admin_client_json_at(g, "kinds");
  for (size_t i = 0; i < json_array_size(kinds); i++) {
    const json_t *one = json_array_get(kinds, i);
    printf(", %s %.0f of %.0f", admin_client_json_text_at(one, "name"),
           admin_client_json_number_at(one, "held"), admin_client_json_number_at(one, "limit"));
  }
  return kinds != NULL;
}

static void admin_command_say_gate(const json_t *g) {
  char oldest[32];
  struct {
    const char *path;
    double value;
  } v[] = {{"held", 0},        {"limit", 0},          {"excess", 0}, {"queue.length", 0},
           {"queue.bound", 0}, {"queue.oldest_s", 0}, {"clients", 0}};
  for (size_t i = 0; i < sizeof v / sizeof *v; i++)
    v[i].value = admin_client_json_number_at(g, v[i].path);
  const char *reason = admin_client_json_text_at(g, "reason");
  printf("gate %s: %s%s%s", admin_client_json_text_at(g, "name"),
         admin_client_json_text_at(g, "state"), reason[0] != '\0' ? ": " : "", reason);
  if (!admin_command_say_kinds(g)) printf(", %.0f of %.0f permits held", v[0].value, v[1].value);
  if (v[2].value > 0) printf(" (%.0f above the limit)", v[2].value);
  printf(", %.0f of %.0f wait", v[3].value, v[4].value);
  if (v[3].value > 0) printf(" (the oldest for %s)", screen_time(oldest, v[5].value));
  printf(", %.0f clients\n", v[6].value);
  const json_t *lease = admin_client_json_at(g, "cluster");
  if (lease == NULL) return;
  printf("  of the cluster's %s: %.0f leased (%s), %.0f in force, %.0f host%s\n",
         admin_client_json_text_at(lease, "name"), admin_client_json_number_at(lease, "leased"),
         admin_client_json_text_at(lease, "mode"), admin_client_json_number_at(lease, "in_force"),
         admin_client_json_number_at(lease, "hosts"),
         admin_client_json_number_at(lease, "hosts") == 1 ? "" : "s");
}

static json_t *admin_command_say_status(struct client_link *link) {
  char up[32];
  json_t *answer = admin_command_ask(link, "GET", "/status", NULL),
         *gates = admin_client_json_at(answer, "gates");
  if (answer == NULL) return NULL;
  double workers = admin_client_json_number_at(answer, "workers");
  printf("voltgate %s at %s: %s, up %s, process %.0f, %.0f worker%s on %s\n",
         admin_client_json_text_at(answer, "version"), link->settings->admin,
         admin_client_json_text_at(answer, "state"),
         screen_time(up, admin_client_json_number_at(answer, "uptime_s")),
         admin_client_json_number_at(answer, "pid"), workers, workers == 1 ? "" : "s",
         admin_client_json_text_at(answer, "io"));
  if (admin_client_json_at(answer, "cluster") != NULL) {
    printf("cluster %s: %s, session %s\n", admin_client_json_text_at(answer, "cluster.servers"),
           admin_client_json_text_at(answer, "cluster.state"),
           admin_client_json_text_at(answer, "cluster.session"));
  }
  for (size_t i = 0; i < json_array_size(gates); i++)
    admin_command_say_gate(json_array_get(gates, i));
  return answer;
}

static json_t *admin_command_post(struct client_link *link, const char *path, const char *words) {
  json_t *answer = admin_command_ask(link, "POST", path, "");
  if (answer != NULL) puts(words);
  return answer;
}

int admin_command(enum command_kind kind, const struct client_settings *c) {
  if (kind == COMMAND_TOP) return top_run(c);
  struct client_link link = {.settings = c};
  json_t *answer = NULL;
  bool is_dumped = false;
  switch (kind) {
    case COMMAND_LIMIT: answer = admin_command_set_limit(&link); break;
    case COMMAND_RELOAD: answer = admin_command_post(&link, "/reload", "reloaded"); break;
    case COMMAND_DRAIN: answer = admin_command_post(&link, "/drain", "draining"); break;
    case COMMAND_STATUS: answer = admin_command_say_status(&link); break;
    case COMMAND_DUMP: is_dumped = admin_command_say_dump(&link); break;
    default: fputs("voltgate: this command asks no running voltgate\n", stderr);
  }
  int code = answer != NULL || is_dumped ? EXIT_SUCCESS : EXIT_FAILURE;
  json_decref(answer);
  admin_client_close(&link);
  if (fflush(stdout) != 0) code = EXIT_FAILURE;
  return code;
}

#else

int admin_command(enum command_kind kind, const struct client_settings *c) {
  (void)kind;
  (void)c;
  fputs("voltgate: built without libjansson, so it cannot ask a running voltgate\n", stderr);
  return EXIT_FAILURE;
}
#endif
