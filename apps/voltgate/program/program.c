/* program.c: what the process is. */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

#include "program/site.h"

/* ---- life ---- */

struct kept_settings {
  struct kept_settings *next;
  struct settings *settings;
};

void program_set_settings(struct program *p, struct settings *settings) {
  struct kept_settings *kept = (struct kept_settings *)malloc(sizeof *kept);
  if (kept) *kept = (struct kept_settings){p->kept, settings}; /* else it is never freed */
  if (kept) p->kept = kept;
  /* release: a thread that loads the pointer sees what it points to */
  atomic_store_explicit(&p->settings, settings, memory_order_release);
}

void program_init(struct program *p, struct settings *settings) {
  pthread_mutex_init(&p->control, NULL);
  pthread_mutex_init(&p->lock, NULL);
  volt_token_init(&p->host.stop);
  volt_token_init(&p->drain);
  volt_group_init_how(&p->ends, VOLT_GROUP_KEEP_GOING);
  program_set_settings(p, settings);
}

void program_destroy(struct program *p) {
  volt_group_destroy(&p->ends);
  volt_token_destroy(&p->drain);
  volt_token_destroy(&p->host.stop);
  while (p->kept) {
    struct kept_settings *kept = p->kept;
    p->kept = kept->next;
    settings_free(kept->settings);
    free(kept->settings);
    free(kept);
  }
  pthread_mutex_destroy(&p->lock);
  pthread_mutex_destroy(&p->control);
}

/* ---- gates, for other rooms ---- */

void program_each_gate(struct program *p, void (*visit)(void *arg, struct gate *g), void *arg) {
  pthread_mutex_lock(&p->lock);
  struct site *first = p->first; /* sites stay until the program ends */
  pthread_mutex_unlock(&p->lock);
  for (struct site *s = first; s;) {
    pthread_mutex_lock(&p->lock);
    bool is_over = s->is_over && s->is_gone;
    struct site *next = s->next;
    pthread_mutex_unlock(&p->lock);
    if (!is_over) visit(arg, &s->gate);
    s = next;
  }
}

struct gate *program_gate(struct program *p, const char *name) {
  struct site *found = NULL;
  pthread_mutex_lock(&p->lock);
  for (struct site *s = p->first; s; s = s->next) {
    bool is_same = strcmp(s->gate.name, name) == 0;
    if (is_same && (!found || found->is_gone)) found = s;
  }
  if (found && found->is_gone && found->is_over) found = NULL;
  pthread_mutex_unlock(&p->lock);
  return found ? &found->gate : NULL;
}

void program_each_address(struct program *p, struct gate *g,
                          void (*visit)(void *arg, const char *address), void *arg) {
  struct site *s = site_of(g);
  pthread_mutex_lock(&p->lock);
  for (size_t i = 0; i < s->listener_count; i++) visit(arg, s->listeners[i]->address);
  pthread_mutex_unlock(&p->lock);
}

void program_each_listener(struct program *p,
                           void (*visit)(void *arg, const struct program_listener *l), void *arg) {
  pthread_mutex_lock(&p->lock);
  for (struct site *s = p->first; s; s = s->next) {
    for (size_t i = 0; i < s->listener_count; i++) {
      const struct listener *l = s->listeners[i];
      const struct program_listener one = {s->gate.name, l->text, l->address, l->number};
      visit(arg, &one);
    }
  }
  pthread_mutex_unlock(&p->lock);
}

/* ---- its state ---- */

const char *program_handing_words(const struct program *p) {
  switch (atomic_load_explicit(&p->handing, memory_order_relaxed)) {
    case HANDOVER_GIVES: return "handing over";
    case HANDOVER_TAKES: return "taking over";
    default: return NULL;
  }
}

void program_drain(struct program *p) {
  volt_token_cancel(&p->drain);
}
