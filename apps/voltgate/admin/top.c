/* top.c: voltgate top: keys, and the time between two looks. What was asked and what is drawn is
 * bounded; a voltgate that does not answer leaves the last screen, with a line that says so. */
#define _GNU_SOURCE
#include "admin/top.h"

#if VOLTGATE_JANSSON
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <volt/volt.h>

#include "admin/client.h"
#include "admin/top_frame.h"
#include "common/term.h"

enum { SHOWN_CLIENTS = 200 };
#define WITHIN_NS UINT64_C(2000000000)

/* ---- what is shown ---- */

struct looking {
  struct client_link link;
  struct top top;
  struct output path;
};

/* Returns a JSON object, or NULL: link.why says why. */
static json_t *top_ask(struct looking *l, const char *path) {
  if (!admin_client_ask(&l->link, "GET", path, NULL, WITHIN_NS)) return NULL;
  json_t *answer = admin_client_json(l->link.answer.at, l->link.answer.size);
  if (answer != NULL && l->link.status == 200) return answer;
  snprintf(l->link.why, sizeof l->link.why, "this is no voltgate: status %d", l->link.status);
  json_decref(answer);
  return NULL;
}

static json_t *top_ask_of_gate(struct looking *l, const char *path, const char *name,
                               const char *more) {
  l->path.size = 0;
  output_string(&l->path, path);
  admin_client_encode(&l->path, name);
  output_string(&l->path, more);
  output_bytes(&l->path, "", 1);
  return l->path.is_cut ? NULL : top_ask(l, l->path.at);
}

static void top_replace(json_t **old, json_t *new) {
  json_decref(*old);
  *old = new;
}

/* The gate that was chosen stays chosen, also if another one has come before it. */
static void top_take_status(struct top *t, json_t *status) {
  char *name = strdup(admin_client_json_text_at(top_frame_gate(t), "name"));
  const json_t *gates = admin_client_json_at(status, "gates");
  size_t count = json_array_size(gates), found = t->chosen < count ? t->chosen : 0;
  for (size_t i = 0; i < count && name != NULL; i++) {
    if (strcmp(admin_client_json_text_at(json_array_get(gates, i), "name"), name) == 0) found = i;
  }
  free(name);
  top_replace(&t->status, status);
  t->chosen = found;
}

static void top_note_lost(struct looking *l) {
  struct top *t = &l->top;
  if (t->lost == NULL) {
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(t->lost_since, sizeof t->lost_since, "%H:%M:%S", &local);
  }
  t->lost = l->link.why;
}

/* Returns whether there was an answer. */
static bool top_look(struct looking *l) {
  struct top *t = &l->top;
  const json_t *before = top_frame_gate(t);
  json_t *status =
      before == NULL
          ? top_ask(l, "/status")
          : top_ask_of_gate(l, "/status?tenants=", admin_client_json_text_at(before, "name"), "");
  if (status == NULL) {
    top_note_lost(l);
    return false;
  }
  top_take_status(t, status);
  t->lost = NULL;
  const json_t *gate = top_frame_gate(t);
  char more[32];
  snprintf(more, sizeof more, "&limit=%d", SHOWN_CLIENTS);
  top_replace(&t->queue, gate != NULL
                             ? top_ask_of_gate(
                                   l, "/queue?gate=", admin_client_json_text_at(gate, "name"), more)
                             : NULL);
  top_replace(&t->holders,
              gate != NULL ? top_ask_of_gate(
                                 l, "/holders?gate=", admin_client_json_text_at(gate, "name"), more)
                           : NULL);
  top_replace(&t->history,
              gate != NULL ? top_ask_of_gate(
                                 l, "/history?gate=", admin_client_json_text_at(gate, "name"), "")
                           : NULL);
  return true;
}

static void top_forget(struct looking *l) {
  top_replace(&l->top.status, NULL);
  top_replace(&l->top.queue, NULL);
  top_replace(&l->top.holders, NULL);
  top_replace(&l->top.history, NULL);
  output_free(&l->path);
  admin_client_close(&l->link);
}

static void top_draw(const struct looking *l, struct screen *s, struct output *to) {
  to->size = 0;
  s->to = to;
  top_frame(s, &l->top);
  term_write(to->at, to->size);
}

/* ---- keys ---- */

enum key_result { KEY_NOTHING, KEY_DRAW, KEY_LOOK, KEY_QUIT };

static enum key_result top_choose(struct top *t, bool is_next) {
  size_t count = json_array_size(admin_client_json_at(t->status, "gates"));
  if (is_next ? t->chosen + 1 >= count : t->chosen == 0) return KEY_NOTHING;
  t->chosen = is_next ? t->chosen + 1 : t->chosen - 1;
  top_replace(&t->queue, NULL);
  top_replace(&t->holders, NULL);
  top_replace(&t->history, NULL);
  return KEY_LOOK;
}

static enum key_result top_press(struct top *t, int key) {
  switch (key) {
    case 'q':
    case 'Q':
    case 4: return KEY_QUIT;
    case 's': t->order = (enum top_order)((t->order + 1) % TOP_ORDERS); return KEY_DRAW;
    case 'j':
    case '\t': return top_choose(t, true);
    case 'k': return top_choose(t, false);
    case 12: return KEY_DRAW; /* Ctrl-L */
    default: return KEY_NOTHING;
  }
}

static enum key_result top_read_keys(struct top *t) {
  enum key_result most = KEY_NOTHING;
  for (int key; (key = term_key()) >= 0;) {
    enum key_result result = top_press(t, key);
    if (result > most) most = result;
  }
  return most;
}

/* ---- the loop ---- */

/* Waits for a key, a signal, or the time. */
static enum key_result top_wait_for(struct top *t, uint64_t deadline_ns) {
  uint64_t now_ns = volt_now_ns();
  enum term_event event = term_wait(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
  if (term_ending) return KEY_QUIT; /* not after what a key asks the gate for */
  switch (event) {
    case TERM_KEYS: return top_read_keys(t);
    case TERM_TIME: return KEY_LOOK;
    case TERM_CLOSED: return KEY_QUIT;
    case TERM_SIGNAL: break;
  }
  return KEY_NOTHING;
}

static int top_show(struct looking *l, struct screen *s, uint64_t interval_ns) {
  struct output to = {.size = 0};
  if (!term_begin()) return EXIT_FAILURE;
  term_size(&s->width, &s->height);
  enum key_result next = KEY_LOOK;
  uint64_t deadline_ns = 0;
  while (next != KEY_QUIT) {
    if (next == KEY_LOOK) {
      top_look(l);
      deadline_ns = volt_now_ns() + interval_ns;
    }
    if (term_has_changed()) {
      term_size(&s->width, &s->height);
      next = KEY_DRAW;
    }
    if (next != KEY_NOTHING) top_draw(l, s, &to);
    next = term_ending ? KEY_QUIT : top_wait_for(&l->top, deadline_ns);
  }
  term_end();
  output_free(&to);
  return EXIT_SUCCESS;
}

static int top_show_once(struct looking *l, struct screen *s) {
  struct output to = {.size = 0};
  if (!top_look(l)) {
    fprintf(stderr, "voltgate: %s\n", l->link.why);
    return EXIT_FAILURE;
  }
  s->width = 200; /* a file has no edge, but lines have an end */
  top_draw(l, s, &to);
  output_free(&to);
  return EXIT_SUCCESS;
}

int top_run(const struct client_settings *c) {
  struct looking l = {.link = {.settings = c}, .top = {.admin = c->admin}};
  setlocale(LC_CTYPE, "");
  bool is_terminal = !c->is_once && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  struct screen s = {.is_terminal = is_terminal,
                     .is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
  int code = is_terminal ? top_show(&l, &s, c->interval_ns) : top_show_once(&l, &s);
  top_forget(&l);
  return code;
}
#endif
