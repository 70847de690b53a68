/* reading.h: settings while they are read. For settings.c, check.c and command.c. */
#ifndef VOLTGATE_CONFIG_READING_H
#define VOLTGATE_CONFIG_READING_H

#include "config/options.h"
#include "config/settings.h"

/* Where something was said. All-zero: nowhere. */
struct place {
  unsigned line; /* of the file */
  bool is_option;
};

static inline bool reading_is_given(struct place p) {
  return p.line != 0 || p.is_option;
}

/* Lines of text that grow. */
struct lines {
  char *text;
  size_t length;
  unsigned count;
  bool is_short; /* memory ran out */
};

struct gate_draft {
  struct place section;
  struct place given[OPTIONS_MOST];
};

struct tenant_draft {
  char *gate; /* which gate it is of */
  struct tenant_settings settings;
  struct place section;
  struct place given[OPTIONS_MOST];
};

enum section_kind { SECTION_NONE, SECTION_WRONG, SECTION_PROCESS, SECTION_GATE, SECTION_TENANT };

struct reading {
  struct settings *out;
  struct place given[OPTIONS_MOST]; /* of the process's options */
  struct place process_section;
  struct gate_draft *gates; /* as many as out->gates */
  struct tenant_draft *tenants;
  size_t tenant_count;
  enum section_kind section; /* that lines of the file belong to */
  size_t section_index;
  bool is_reload;
  struct lines errors, warnings;
};

enum { GATES_MOST = 256, TENANTS_MOST = 10000, NAME_BYTES_MOST = 63 };

void reading_add_line(struct lines *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What is wrong, and what looks wrong, with its place. key: NULL: none. */
void reading_error(struct reading *r, struct place at, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void reading_warning(struct reading *r, struct place at, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Whether an option of that name was given to the gate, and where. */
struct place reading_gate_given(const struct gate_draft *d, const char *name);

/* Look at all of it when everything was read: settings.c calls it once. */
void reading_check(struct reading *r);
/* The part of it that is about a cluster. */
void reading_check_cluster(struct reading *r);
/* The part of it that is about a permit gate, or about the options of one at another gate. */
void reading_check_permit(struct reading *r, size_t gate);
/* The same of a tenant's section. */
void reading_check_permit_tenant(struct reading *r, const struct gate_settings *g,
                                 struct tenant_draft *t);

/* Read the token of a file that others must not be able to read. Returns NULL, and why says what is
 * wrong. */
char *reading_read_token(const char *path, char why[OPTION_WHY]);

/* The token that this text is, or NULL. */
char *reading_token_of_text(const char *text, char why[OPTION_WHY]);

/* ---- the command line ---- */

struct arguments {
  int argc;
  char *const *argv;
  int next; /* 1 at first */
};

enum argument_kind { ARGUMENT_OPTION, ARGUMENT_WORD, ARGUMENT_WRONG, ARGUMENT_END };

/* The next one. An option: *o and *value ("" if it has none). A word: *value. Wrong: why. */
enum argument_kind arguments_next(struct arguments *a, unsigned owners, const struct option **o,
                                  const char **value, char why[OPTION_WHY]);

#endif
