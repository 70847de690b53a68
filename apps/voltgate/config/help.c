/* help.c: help.h. */
#include "config/help.h"

#include <string.h>

#include "config/options.h"

/* ---- --help ---- */

static const char help_head[] =
    "usage: voltgate [run] [options]\n"
    "       voltgate check [options]\n"
    "       voltgate top [--admin ADDRESS] [--interval TIME] [--once]\n"
    "       voltgate limit GATE N | reload | drain | status  [--admin ADDRESS] [--token-file "
    "FILE]\n"
    "\n"
    "One exact limit and one queue in front of a server: as many clients use it as there are\n"
    "permits, and the others wait for their turn. As\n"
    "\n"
    "  voltgate --listen :6432 --to 127.0.0.1:5432 --protocol postgres --limit 16\n";

static const char help_foot[] =
    "\n"
    "Behind each option: its default. TIME: 250ms, 5s, 1.5s, 2m, 1h. Several gates, and tenants\n"
    "with limits of their own: in a file, --config FILE. All of it: man voltgate.\n"
    "Exit code: 0 fine, 1 it could not run, 2 options or configuration are wrong.\n";

enum { HELP_COLUMN = 30, HELP_WIDTH = 100 };

static const char *preset_of(const struct option *o) {
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
  bool has_preset = preset_of(o)[0] != '\0';
  fprintf(to, "%*s%s%s%s%s\n", HELP_COLUMN - width, "", o->help, has_preset ? " (" : "",
          preset_of(o), has_preset ? ")" : "");
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

static bool has_allowed_words(const struct option *o) {
  switch (o->kind) {
    case OPTION_NUMBER:
    case OPTION_TIME: return true;
    default: return false;
  }
}

static void markdown_option(const struct option *o, FILE *to) {
  char allowed[OPTION_WHY];
  const char *of_file = o->owner == OPTION_OF_TENANT ? "" : "--";
  fprintf(to, "\n### `%s%s`\n\n", of_file, o->name);
  if (o->argument != NULL) fprintf(to, "`%s%s %s`", of_file, o->name, o->argument);
  if (o->argument == NULL) fprintf(to, "`%s%s`", of_file, o->name);
  if (has_allowed_words(o)) fprintf(to, ": %s", option_allowed(o, allowed));
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
    markdown_option(o, to);
  }
}

/* Text of the table in mdoc: sentences on lines of their own, `x` in bold. */
static void mdoc_text(const char *text, FILE *to) {
  bool is_code = false;
  for (const char *at = text; *at != '\0'; at++) {
    bool is_line_begin = at == text || (at[-1] == ' ' && at >= text + 2 && at[-2] == '.');
    if (*at == '`') {
      is_code = !is_code;
      fputs(is_code ? "\\fB" : "\\fR", to);
    } else if (*at == '-') {
      fputs("\\-", to);
    } else if (*at == '\\') {
      fputs("\\e", to);
    } else if (*at == ' ' && at > text && at[-1] == '.' && !is_code) {
      fputc('\n', to);
    } else {
      if (is_line_begin && (*at == '.' || *at == '\'')) fputs("\\&", to);
      fputc(*at, to);
    }
  }
  fputc('\n', to);
}

static void mdoc_option(const struct option *o, FILE *to) {
  char allowed[OPTION_WHY];
  const char *flag = o->owner == OPTION_OF_TENANT ? "Cm" : "Fl";
  fprintf(to, ".It %s %s%s", flag, o->owner == OPTION_OF_TENANT ? "" : "-", o->name);
  fprintf(to, "%s%s\n", o->argument == NULL ? "" : " Ar ", o->argument == NULL ? "" : o->argument);
  mdoc_text(o->manual, to);
  if (has_allowed_words(o)) {
    option_allowed(o, allowed);
    fputs("It is ", to);
    mdoc_text(allowed, to);
  }
  if (preset_of(o)[0] != '\0') {
    fputs("Default: ", to);
    fprintf(to, "%s", o->preset_words == NULL ? "\\fB" : "");
    for (const char *at = preset_of(o); *at != '\0'; at++)
      fputs(*at == '-' ? "\\-" : (char[2]){*at}, to);
    fprintf(to, "%s.\n", o->preset_words == NULL ? "\\fR" : "");
  }
  if (o->needs_restart) fputs("A change needs a restart.\n", to);
}

void help_mdoc(FILE *to) {
  const char *group = "";
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    if (strcmp(group, o->group) != 0) {
      fprintf(to, "%s.Ss %s\n.Bl -tag -width Ds\n", *group == '\0' ? "" : ".El\n", o->group);
    }
    group = o->group;
    mdoc_option(o, to);
  }
  fputs(".El\n", to);
}
