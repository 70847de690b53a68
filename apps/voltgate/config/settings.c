/* settings.c: the command line and the file become settings.
 *
 * The file is read first, then the options of the command line, which go before it. Each value
 * remembers where it was given, so that what is wrong can be said with its place; all that is wrong
 * is said, not the first alone. */
#define _GNU_SOURCE /* strdup, vasprintf, O_CLOEXEC */
#include "config/settings.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/ini.h"
#include "config/reading.h"

static const struct place command_line = {.is_option = true};

/* ---- what is wrong ---- */

void reading_add_line(struct lines *l, const char *format, ...) {
  va_list args;
  char *line;
  va_start(args, format);
  int length = vasprintf(&line, format, args);
  va_end(args);
  l->count++;
  if (length < 0) {
    l->is_short = true;
    return;
  }
  char *more = realloc(l->text, l->length + (size_t)length + 2);
  if (more != NULL) {
    if (l->length > 0) more[l->length++] = '\n';
    memcpy(more + l->length, line, (size_t)length + 1);
    l->length += (size_t)length;
    l->text = more;
  } else {
    l->is_short = true;
  }
  free(line);
}

enum { ERRORS_SHOWN = 200 };

static void settings_add_with_place(const struct reading *r, struct lines *l, struct place at,
                                    const char *key, const char *words) {
  char line[16] = "";
  if (l->count >= ERRORS_SHOWN) return;
  if (at.line != 0) snprintf(line, sizeof line, "%u:", at.line);
  bool is_named = at.is_option && key != NULL && options_find(key, OPTIONS_SERVING) != NULL;
  reading_add_line(l, "%s:%s %s%s%s%s", at.line != 0 ? r->out->config : "voltgate", line,
                   is_named ? "--" : "", key == NULL ? "" : key, key == NULL ? "" : ": ", words);
}

void reading_error(struct reading *r, struct place at, const char *key, const char *format, ...) {
  char words[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(words, sizeof words, format, args);
  va_end(args);
  settings_add_with_place(r, &r->errors, at, key, words);
}

void reading_warning(struct reading *r, struct place at, const char *key, const char *format, ...) {
  char words[1024] = "warning: ";
  va_list args;
  va_start(args, format);
  vsnprintf(words + 9, sizeof words - 9, format, args);
  va_end(args);
  settings_add_with_place(r, &r->warnings, at, key, words);
}

static bool settings_no_memory(struct reading *r) {
  r->errors.is_short = true;
  return false;
}

/* ---- gates and tenants as they come ---- */

/* Whether it can be a name: of a gate, in paths and labels; of a tenant, anything that is printed. */
static bool settings_is_name(const char *name, size_t length, bool is_path) {
  if (length == 0 || length > NAME_BYTES_MOST) return false;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)name[i];
    if (is_path ? !isalnum(c) && strchr("_.-", c) == NULL : c < ' ' || c == 0x7F) return false;
  }
  return true;
}

static size_t settings_find_gate(const struct settings *s, const char *name) {
  size_t i = 0;
  while (i < s->gate_count && strcmp(s->gates[i].name, name) != 0) i++;
  return i;
}

/* The gate of that name, made if it is not there. Returns its index, or SIZE_MAX. */
static size_t settings_gate_made(struct reading *r, const char *name, struct place at) {
  struct settings *s = r->out;
  size_t i = settings_find_gate(s, name);
  if (i < s->gate_count) return i;
  if (i == GATES_MOST) {
    reading_error(r, at, NULL, "there are more than %d gates", GATES_MOST);
    return SIZE_MAX;
  }
  struct gate_settings *gates = realloc(s->gates, (i + 1) * sizeof *gates);
  if (gates != NULL) s->gates = gates;
  struct gate_draft *drafts = realloc(r->gates, (i + 1) * sizeof *drafts);
  if (drafts != NULL) r->gates = drafts;
  char *copy = strdup(name);
  if (gates == NULL || drafts == NULL || copy == NULL) {
    free(copy);
    settings_no_memory(r);
    return SIZE_MAX;
  }
  gates[i] = (struct gate_settings){.name = copy};
  drafts[i] = (struct gate_draft){.section = at};
  s->gate_count++;
  if (!options_preset(OPTION_OF_GATE, &gates[i])) settings_no_memory(r);
  return i;
}

static size_t settings_tenant_made(struct reading *r, const char *gate, size_t gate_length,
                                   const char *name, struct place at) {
  size_t i = r->tenant_count;
  if (i == TENANTS_MOST) {
    reading_error(r, at, NULL, "there are more than %d tenants", TENANTS_MOST);
    return SIZE_MAX;
  }
  if ((i & (i - 1)) == 0) { /* a power of two: it is full */
    struct tenant_draft *more = realloc(r->tenants, (i == 0 ? 1 : 2 * i) * sizeof *more);
    if (more == NULL) {
      settings_no_memory(r);
      return SIZE_MAX;
    }
    r->tenants = more;
  }
  struct tenant_draft *t = &r->tenants[i];
  *t = (struct tenant_draft){.section = at};
  r->tenant_count++;
  t->gate = strndup(gate, gate_length);
  t->settings.name = strdup(name);
  if (t->gate == NULL || t->settings.name == NULL ||
      !options_preset(OPTION_OF_TENANT, &t->settings)) {
    settings_no_memory(r);
  }
  return i;
}

/* ---- a value ---- */

/* An option was given: set it, unless it was given here before. */
static void settings_give(struct reading *r, const struct option *o, void *owner,
                          struct place *given, const char *value, struct place at) {
  char why[OPTION_WHY];
  struct place *last = &given[o - options_table];
  bool is_list = o->kind == OPTION_LISTEN;
  bool is_again = reading_is_given(*last) && last->is_option == at.is_option;
  if (is_again && !is_list) {
    if (at.is_option) {
      reading_error(r, at, o->name, "it is given twice");
    } else {
      reading_error(r, at, o->name, "it is given in line %u already", last->line);
    }
    return;
  }
  if (is_list && !is_again) option_clear(o, owner); /* the option's go before the file's */
  if (!is_again) *last = at;
  if (!option_set(o, owner, value, why)) reading_error(r, at, o->name, "%s", why);
}

/* ---- the file ---- */

static void settings_begin_process(struct reading *r, struct place at) {
  if (reading_is_given(r->process_section)) {
    reading_error(r, at, "[voltgate]", "it has begun in line %u already", r->process_section.line);
  } else {
    r->process_section = at;
  }
  r->section = SECTION_PROCESS;
}

static void settings_begin_gate(struct reading *r, const char *name, struct place at) {
  if (!settings_is_name(name, strlen(name), true)) {
    reading_error(r, at, NULL,
                  "[gate %.80s]: a gate's name has letters, digits, '_', '.' and '-', at most %d",
                  name, NAME_BYTES_MOST);
    return;
  }
  size_t i = settings_find_gate(r->out, name);
  if (i < r->out->gate_count) {
    reading_error(r, at, NULL, "[gate %s]: it has begun in line %u already", name,
                  r->gates[i].section.line);
  }
  r->section_index = settings_gate_made(r, name, at);
  if (r->section_index != SIZE_MAX) r->section = SECTION_GATE;
}

static void settings_begin_tenant(struct reading *r, const char *name, struct place at) {
  const char *slash = strchr(name, '/');
  if (slash == NULL || !settings_is_name(name, (size_t)(slash - name), true) ||
      !settings_is_name(slash + 1, strlen(slash + 1), false)) {
    reading_error(r, at, NULL,
                  "[tenant %.80s]: want [tenant GATE/NAME], where a name has at most %d bytes",
                  name, NAME_BYTES_MOST);
    return;
  }
  r->section_index = settings_tenant_made(r, name, (size_t)(slash - name), slash + 1, at);
  if (r->section_index != SIZE_MAX) r->section = SECTION_TENANT;
}

/* The name behind the word that a section begins with, or NULL: it begins with another. */
static const char *settings_behind(const char *section, const char *word) {
  size_t length = strlen(word);
  if (strncmp(section, word, length) != 0) return NULL;
  size_t blanks = strspn(section + length, " \t");
  return blanks == 0 && section[length] != '\0' ? NULL : section + length + blanks;
}

static void settings_hear_section(void *arg, unsigned line, const char *section) {
  struct reading *r = arg;
  struct place at = {.line = line};
  char text[256]; /* without blanks at its ends */
  section += strspn(section, " \t");
  snprintf(text, sizeof text, "%s", section);
  for (size_t n = strlen(text); n > 0 && strchr(" \t", text[n - 1]) != NULL;) text[--n] = '\0';
  const char *name;
  r->section = SECTION_WRONG;
  if (strcmp(text, "voltgate") == 0) {
    settings_begin_process(r, at);
  } else if ((name = settings_behind(text, "gate")) != NULL) {
    settings_begin_gate(r, name, at);
  } else if ((name = settings_behind(text, "tenant")) != NULL) {
    settings_begin_tenant(r, name, at);
  } else {
    reading_error(r, at, NULL,
                  "[%.80s]: there is no such section: want [voltgate], [gate NAME] or "
                  "[tenant GATE/NAME]",
                  text);
  }
}

static const struct {
  unsigned owner;
  const char *name;
} section_names[] = {{OPTION_OF_PROCESS, "[voltgate]"},
                     {OPTION_OF_GATE, "[gate NAME]"},
                     {OPTION_OF_TENANT, "[tenant GATE/NAME]"}};

/* A key that this section does not have: is it another's, or written wrongly? */
static void settings_unknown_key(struct reading *r, struct place at, const char *key,
                                 unsigned owner) {
  const char *nearest = options_nearest(key, owner);
  for (size_t i = 0; i < sizeof section_names / sizeof *section_names; i++) {
    if (section_names[i].owner == owner) continue;
    if (options_find(key, section_names[i].owner) == NULL) continue;
    reading_error(r, at, key, "it belongs in a section %s", section_names[i].name);
    return;
  }
  reading_error(r, at, NULL, "%.40s: there is no such key%s%s%s", key,
                nearest == NULL ? "" : "; is ", nearest == NULL ? "" : nearest,
                nearest == NULL ? "" : " meant?");
}

static void settings_hear_pair(void *arg, unsigned line, const char *key, const char *value) {
  struct reading *r = arg;
  struct place at = {.line = line};
  unsigned owner = 0;
  void *target = NULL;
  struct place *given = NULL;
  switch (r->section) {
    case SECTION_NONE:
      reading_error(r, at, NULL, "%.40s: it stands before the first section", key);
      return;
    case SECTION_WRONG: return; /* the section was reported */
    case SECTION_PROCESS: owner = OPTION_OF_PROCESS, target = r->out, given = r->given; break;
    case SECTION_GATE:
      owner = OPTION_OF_GATE;
      target = &r->out->gates[r->section_index];
      given = r->gates[r->section_index].given;
      break;
    case SECTION_TENANT:
      owner = OPTION_OF_TENANT;
      target = &r->tenants[r->section_index].settings;
      given = r->tenants[r->section_index].given;
      break;
  }
  const struct option *o = options_find(key, owner);
  if (o == NULL) {
    settings_unknown_key(r, at, key, owner);
  } else if (strcmp(o->name, "config") == 0) {
    reading_error(r, at, key, "it is an option of the command line only");
  } else {
    settings_give(r, o, target, given, value, at);
  }
}

static void settings_hear_wrong(void *arg, unsigned line, const char *words) {
  reading_error(arg, (struct place){.line = line}, NULL, "%s", words);
}

static void settings_read_stream(struct reading *r, FILE *in) {
  const struct ini_hearer hearer = {.arg = r,
                                    .section = settings_hear_section,
                                    .pair = settings_hear_pair,
                                    .wrong = settings_hear_wrong};
  ini_read(in, &hearer);
}

static void settings_read_file(struct reading *r) {
  const char *path = r->out->config;
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
  if (in == NULL) {
    reading_error(r, command_line, "config", "'%.200s': %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return;
  }
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    reading_error(r, command_line, "config", "'%.200s': it is not a file", path);
  } else {
    settings_read_stream(r, in);
  }
  fclose(in);
}

/* ---- the command line ---- */

/* Call take for each option that is right. */
static void settings_read_options(struct reading *r, int argc, char *const *argv,
                                  void (*take)(struct reading *r, const struct option *o,
                                               const char *value)) {
  struct arguments a = {.argc = argc, .argv = argv, .next = 1};
  const struct option *o;
  const char *value;
  char why[OPTION_WHY];
  enum argument_kind kind;
  while ((kind = arguments_next(&a, OPTIONS_SERVING, &o, &value, why)) != ARGUMENT_END) {
    if (kind == ARGUMENT_OPTION) take(r, o, value);
  }
}

static bool settings_is_config(const struct option *o) {
  return strcmp(o->name, "config") == 0;
}

static void settings_take_config(struct reading *r, const struct option *o, const char *value) {
  if (settings_is_config(o)) settings_give(r, o, r->out, r->given, value, command_line);
}

static void settings_take_rest(struct reading *r, const struct option *o, const char *value) {
  if (o->owner == OPTION_OF_PROCESS) {
    if (!settings_is_config(o)) settings_give(r, o, r->out, r->given, value, command_line);
    return;
  }
  size_t i = settings_gate_made(r, "main", command_line);
  if (i != SIZE_MAX) settings_give(r, o, &r->out->gates[i], r->gates[i].given, value, command_line);
}

/* The words that are no options. */
static void settings_refuse_words(struct reading *r, int argc, char *const *argv) {
  struct arguments a = {.argc = argc, .argv = argv, .next = 1};
  const struct option *o;
  const char *value;
  char why[OPTION_WHY];
  enum argument_kind kind;
  while ((kind = arguments_next(&a, OPTIONS_SERVING, &o, &value, why)) != ARGUMENT_END) {
    if (kind == ARGUMENT_WRONG) reading_error(r, command_line, NULL, "%s", why);
    if (kind == ARGUMENT_WORD) {
      reading_error(r, command_line, NULL, "'%.80s' is no option", value);
    }
  }
}

/* ---- all of it ---- */

static int settings_by_name(const void *one, const void *other) {
  const struct tenant_settings *a = one, *b = other;
  return strcmp(a->name, b->name);
}

/* Give each tenant to its gate. */
static void settings_place_tenants(struct reading *r) {
  struct settings *s = r->out;
  for (size_t i = 0; i < r->tenant_count; i++) {
    struct tenant_draft *t = &r->tenants[i];
    if (t->gate == NULL || t->settings.name == NULL) continue; /* no memory */
    size_t at = settings_find_gate(s, t->gate);
    if (at == s->gate_count) {
      reading_error(r, t->section, NULL, "[tenant %s/%s]: there is no gate %s", t->gate,
                    t->settings.name, t->gate);
      continue;
    }
    struct gate_settings *g = &s->gates[at];
    if ((g->tenant_count & (g->tenant_count - 1)) == 0) {
      size_t room = g->tenant_count == 0 ? 1 : 2 * g->tenant_count;
      struct tenant_settings *more = realloc(g->tenants, room * sizeof *more);
      if (more == NULL) {
        settings_no_memory(r);
        return;
      }
      g->tenants = more;
    }
    g->tenants[g->tenant_count++] = t->settings;
    t->settings.name = NULL; /* it is the gate's */
  }
}

static void settings_read_all(struct reading *r, int argc, char *const *argv) {
  struct settings *s = r->out;
  *s = (struct settings){0};
  if (!options_preset(OPTION_OF_PROCESS, s)) settings_no_memory(r);
  settings_refuse_words(r, argc, argv);
  settings_read_options(r, argc, argv, settings_take_config);
  if (s->config != NULL) settings_read_file(r);
  settings_read_options(r, argc, argv, settings_take_rest);
  reading_check(r);
  settings_place_tenants(r);
  for (size_t i = 0; i < s->gate_count; i++) {
    struct gate_settings *g = &s->gates[i];
    if (g->tenant_count > 1)
      qsort(g->tenants, g->tenant_count, sizeof *g->tenants, settings_by_name);
  }
}

static void settings_free_drafts(struct reading *r) {
  for (size_t i = 0; i < r->tenant_count; i++) {
    free(r->tenants[i].gate);
    free(r->tenants[i].settings.name);
  }
  free(r->tenants);
  free(r->gates);
}

/* Read them. Returns NULL, or what is wrong. */
static char *settings_made(struct settings *out, int argc, char *const *argv, bool is_reload) {
  struct reading r = {.out = out, .is_reload = is_reload};
  settings_read_all(&r, argc, argv);
  settings_free_drafts(&r);
  out->warnings = r.warnings.text;
  if (r.errors.count == 0 && !r.errors.is_short) return NULL;
  settings_free(out);
  if (r.errors.is_short) {
    free(r.errors.text);
    return strdup("voltgate: no memory");
  }
  if (r.errors.count >= ERRORS_SHOWN) reading_add_line(&r.errors, "voltgate: and so on");
  return r.errors.text;
}

enum settings_result settings_read(struct settings *out, int argc, char *const *argv) {
  char *errors = settings_made(out, argc, argv, false);
  if (errors == NULL) {
    if (out->warnings != NULL) fprintf(stderr, "%s\n", out->warnings);
    return SETTINGS_RUN;
  }
  fprintf(stderr, "%s\n", errors);
  free(errors);
  return SETTINGS_WRONG;
}

char *settings_reread(struct settings *out, int argc, char *const *argv) {
  return settings_made(out, argc, argv, true);
}

static void settings_wipe(char *secret) {
  if (secret == NULL) return;
  explicit_bzero(secret, strlen(secret));
  free(secret);
}

void settings_free(struct settings *s) {
  for (size_t i = 0; i < s->gate_count; i++) {
    struct gate_settings *g = &s->gates[i];
    for (size_t j = 0; j < g->tenant_count; j++) free(g->tenants[j].name);
    free(g->tenants);
    free(g->name);
    options_clear(OPTION_OF_GATE, g);
  }
  free(s->gates);
  free(s->warnings);
  settings_wipe(s->token);
  settings_wipe(s->cluster_auth);
  options_clear(OPTION_OF_PROCESS, s);
  *s = (struct settings){0};
}

const struct gate_settings *settings_gate(const struct settings *s, const char *name) {
  size_t i = settings_find_gate(s, name);
  return i < s->gate_count ? &s->gates[i] : NULL;
}

const struct tenant_settings *settings_tenant(const struct gate_settings *g, const char *name) {
  size_t least = 0, most = g->tenant_count;
  while (least < most) {
    size_t middle = least + (most - least) / 2;
    int order = strcmp(name, g->tenants[middle].name);
    if (order == 0) return &g->tenants[middle];
    if (order < 0) most = middle;
    if (order > 0) least = middle + 1;
  }
  return &g->tenant_default;
}
