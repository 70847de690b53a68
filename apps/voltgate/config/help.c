/* help.c: help.h. */
#include "config/help.h"

#include <string.h>

#include "config/options.h"

/* ---- --help ---- */

static const char help_head[] =
    "usage: voltgate [run] [options]\n"
    "       voltgate run [--take AMOUNTS] [--wait TIME | --or-fail] [--keep | --jobs] [--label "
    "TEXT]\n"
    "                    [--gate SOCKET] [--] COMMAND [ARGUMENTS]\n"
    "       voltgate permits\n"
    "       voltgate check [--connect] [options]\n"
    "       voltgate top [--admin ADDRESS] [--interval TIME] [--once]\n"
    "       voltgate limit GATE N|KIND=N | reload | drain | status | dump  [--admin ADDRESS] "
    "[--token-file "
    "FILE]\n"
    "\n"
    "One exact limit and one queue in front of a server: as many clients use it as there are\n"
    "permits, and the others wait in the order of their arrival:\n"
    "\n"
    "  voltgate --listen :6432 --to 127.0.0.1:5432 --protocol postgres --limit 16\n";

static const char help_foot[] =
    "\n"
    "Behind each option: its default. TIME: 250ms, 5s, 1.5s, 2m, 1h. Several gates, and tenants\n"
    "with limits of their own: in a file, --config FILE. All of it: man voltgate.\n"
    "Exit code: 0 fine, 1 it could not run, 2 options or configuration are wrong; run COMMAND: "
    "that of\n"
    "the command, 124 not granted, 125 voltgate has failed, 126 and 127 the command cannot be "
    "run.\n";

enum { HELP_COLUMN = 30, HELP_WIDTH = 100 };

static const char *help_preset_of(const struct option *o) {
  if (o->preset_words != NULL) return o->preset_words;
  return o->preset == NULL ? "" : o->preset;
}

static void help_option(const struct option *o, FILE *to) {
  int width = fprintf(to, "  --%s%s%s", o->name, o->argument == NULL ? "" : " ",
                      o->argument == NULL ? "" : o->argument);
  if (width > HELP_COLUMN - 2) {
    fputc('\n', to);
    width = 0;
  }
  bool has_preset = help_preset_of(o)[0] != '\0';
  fprintf(to, "%*s%s%s%s%s\n", HELP_COLUMN - width, "", o->help, has_preset ? " (" : "",
          help_preset_of(o), has_preset ? ")" : "");
}

void help_print(FILE *to) {
  const char *group = "";
  fputs(help_head, to);
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    if (o->owner == OPTION_OF_TENANT) continue; /* of the file only */
    if (strcmp(group, o->group) != 0) fprintf(to, "\n%s:\n", o->group);
    group = o->group;
    help_option(o, to);
  }
  fputs(help_foot, to);
}

/* ---- the reference ---- */

/* What may be written, where the paragraph does not say it. */
static bool help_has_bounds(const struct option *o) {
  return o->kind == OPTION_NUMBER;
}

static void help_markdown_option(const struct option *o, FILE *to) {
  char allowed[OPTION_WHY];
  const char *of_file = o->owner == OPTION_OF_TENANT ? "" : "--";
  fprintf(to, "\n### `%s%s`\n\n", of_file, o->name);
  if (o->argument != NULL) fprintf(to, "`%s%s %s`", of_file, o->name, o->argument);
  if (o->argument == NULL) fprintf(to, "`%s%s`", of_file, o->name);
  if (help_has_bounds(o)) fprintf(to, ": %s", option_allowed(o, allowed));
  if (o->preset_words != NULL) {
    fprintf(to, ". Default: %s", o->preset_words);
  } else if (o->preset != NULL) {
    fprintf(to, ". Default: `%s`", o->preset);
  }
  fprintf(to, ".%s\n\n%s\n", o->needs_restart ? " A change needs a restart." : "", o->manual);
}

void help_markdown(FILE *to) {
  const char *group = "";
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    if (strcmp(group, o->group) != 0) fprintf(to, "\n## %s\n", o->group);
    group = o->group;
    help_markdown_option(o, to);
  }
}

enum { MDOC_WIDTH = 72 };

/* A line of mdoc that is filled with words. */
struct mdoc_line {
  FILE *to;
  int width;    /* of what is in it */
  bool is_code; /* between two ` */
};

/* One word: `x` in bold, and what would be a request or an escape made plain. */
static void help_mdoc_word(struct mdoc_line *l, const char *word, size_t length) {
  if (l->width > 0 && l->width + 1 + (int)length > MDOC_WIDTH) {
    fputc('\n', l->to);
    l->width = 0;
  }
  if (l->width > 0) l->width += fprintf(l->to, " ");
  if (l->width == 0 && (*word == '.' || *word == '\'')) l->width += fprintf(l->to, "\\&");
  for (size_t i = 0; i < length; i++) {
    if (word[i] == '`') {
      l->is_code = !l->is_code;
      l->width += fprintf(l->to, l->is_code ? "\\fB" : "\\fR");
    } else if (word[i] == '-') {
      l->width += fprintf(l->to, "\\-");
    } else {
      l->width += fprintf(l->to, "%c", word[i]);
    }
  }
}

/* Sentences, each on lines of its own. */
static void help_mdoc_text(const char *text, FILE *to) {
  struct mdoc_line l = {.to = to};
  while (*text != '\0') {
    size_t length = strcspn(text, " ");
    help_mdoc_word(&l, text, length);
    bool is_end = !l.is_code && text[length - 1] == '.';
    text += length;
    text += strspn(text, " ");
    if (is_end || *text == '\0') {
      fputc('\n', to);
      l.width = 0;
    }
  }
}

static void help_mdoc_option(const struct option *o, FILE *to) {
  char allowed[OPTION_WHY], line[OPTION_WHY + 8];
  const char *flag = o->owner == OPTION_OF_TENANT ? "Cm" : "Fl";
  fprintf(to, ".It %s %s%s", flag, o->owner == OPTION_OF_TENANT ? "" : "-", o->name);
  fprintf(to, "%s%s\n", o->argument == NULL ? "" : " Ar ", o->argument == NULL ? "" : o->argument);
  help_mdoc_text(o->manual, to);
  if (help_has_bounds(o)) {
    snprintf(line, sizeof line, "It is %s.", option_allowed(o, allowed));
    help_mdoc_text(line, to);
  }
  if (help_preset_of(o)[0] != '\0') {
    const char *mark = o->preset_words == NULL ? "`" : "";
    snprintf(line, sizeof line, "Default: %s%s%s.", mark, help_preset_of(o), mark);
    help_mdoc_text(line, to);
  }
  if (o->needs_restart) help_mdoc_text("A change needs a restart.", to);
}

void help_mdoc(FILE *to) {
  const char *group = "";
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    if (strcmp(group, o->group) != 0) {
      fprintf(to, "%s.Ss %s\n.Bl -tag -width Ds\n", *group == '\0' ? "" : ".El\n", o->group);
    }
    group = o->group;
    help_mdoc_option(o, to);
  }
  fputs(".El\n", to);
}
