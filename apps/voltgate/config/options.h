/* options.h: the table of all options. The command line, the keys of the file, --help, the manual
 * page and docs/voltgate/options.md come from it. */
#ifndef VOLTGATE_CONFIG_OPTIONS_H
#define VOLTGATE_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option is of: the struct that `offset` is in, and the sections of the file. */
enum option_owner {
  OPTION_OF_GATE = 1,    /* struct gate_settings, [gate NAME] */
  OPTION_OF_PROCESS = 2, /* struct settings, [voltgate] */
  OPTION_OF_TENANT = 4,  /* struct tenant_settings, [tenant GATE/NAME] */
  OPTION_OF_CLIENT = 8,  /* struct client_settings: of the commands that ask */
  OPTION_OF_UNDER = 16   /* struct under_settings: of a command under a permit */
};

/* Those that a voltgate that serves is given on its command line. */
#define OPTIONS_SERVING (OPTION_OF_GATE | OPTION_OF_PROCESS)

enum option_kind {
  OPTION_NUMBER,    /* uint32_t */
  OPTION_TIME,      /* uint64_t: nanoseconds */
  OPTION_WORD,      /* an enum: one of words */
  OPTION_YES,       /* bool: yes or no */
  OPTION_FLAG,      /* bool: true if it is there; it has no value */
  OPTION_TEXT,      /* char *: a name */
  OPTION_FILE,      /* char *: a path */
  OPTION_OUTPUT,    /* char *: a path; "-": standard error; none: NULL */
  OPTION_SOCKET,    /* char *: a path that a unix socket can have */
  OPTION_LISTEN,    /* char **, with the count behind it: several addresses */
  OPTION_SERVER,    /* char *: an address to connect to */
  OPTION_SERVERS,   /* char *: several of them, behind commas */
  OPTION_ADMIN,     /* char *: the admin side's address */
  OPTION_TENANT_BY, /* enum tenant_by, and tenant_ipv4_bits */
  OPTION_LIMITS,    /* struct permit_amounts; cores and memory may be auto */
  OPTION_AMOUNTS,   /* struct permit_amounts */
};

struct option_word {
  const char *name;
  int value;
};

struct option {
  const char *name;
  enum option_owner owner;
  enum option_kind kind;
  const char *group; /* its heading */
  size_t offset;
  const char *argument;     /* how its value is called; NULL: it has none */
  const char *preset;       /* its value if it is not given, as it is written; NULL: zero */
  const char *preset_words; /* what that is, if preset does not say it */
  uint64_t least, most;     /* of a number and a time; a time may be 0, too, if can_be_zero */
  bool can_be_zero;
  bool needs_restart;              /* a reload cannot change it */
  const struct option_word *words; /* until a name that is NULL */
  const char *help;                /* one line */
  const char *manual;              /* a paragraph */
};

extern const struct option options_table[];
enum { OPTIONS_MOST = 90 }; /* rows of the table, at most */
size_t options_count(void);

/* The option of that name and one of these owners, or NULL. */
const struct option *options_find(const char *name, unsigned owners);

/* The name that is most like this one, or NULL if none is. */
const char *options_nearest(const char *name, unsigned owners);

enum { OPTION_WHY = 400 };

/* Read a value into its struct. Returns false, and why says what is wrong with it and what is
 * allowed: nothing has changed. */
bool option_set(const struct option *o, void *owner, const char *value, char why[OPTION_WHY]);

/* Free what it has, and make it zero. */
void option_clear(const struct option *o, void *owner);

bool option_is_equal(const struct option *o, const void *one, const void *other);

/* Give all options of this owner their presets. Returns false: no memory. */
bool options_preset(enum option_owner owner_kind, void *owner);
void options_clear(enum option_owner owner_kind, void *owner);

/* What may be written: "a number from 1 to 1000000", "one of tcp, postgres, redis". to: OPTION_WHY
 * bytes. Returns to. */
const char *option_allowed(const struct option *o, char to[OPTION_WHY]);

#endif
