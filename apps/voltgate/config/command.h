/* command.h: what the command line asks for. */
#ifndef VOLTGATE_CONFIG_COMMAND_H
#define VOLTGATE_CONFIG_COMMAND_H

#include "config/settings.h"

#define VOLTGATE_VERSION "1.0"

enum command_kind {
  COMMAND_RUN,   /* settings_read(argc, argv), and run */
  COMMAND_CHECK, /* settings_read(argc, argv), and say whether it is fine */
  COMMAND_TOP,   /* these ask a voltgate that runs: client has the rest */
  COMMAND_LIMIT,
  COMMAND_RELOAD,
  COMMAND_DRAIN,
  COMMAND_STATUS,
  COMMAND_DUMP,
  COMMAND_PERMITS, /* the gate of a user, at a socket that is inherited */
  COMMAND_UNDER,   /* a command under a permit: under has the rest */
  COMMAND_SHOWN,   /* help or the version was printed: exit with 0 */
  COMMAND_WRONG,   /* what is wrong was printed: exit with 2 */
  COMMAND_WRONG_UNDER /* the same, of a command under a permit: exit with 125, as nohup and timeout do */
};

/* What a command that asks a running voltgate was given. */
struct client_settings {
  char *admin; /* where it is */
  char *token_file;
  char *token;                /* of that file, or of VOLTGATE_TOKEN; NULL: none */
  uint64_t interval_ns;       /* top */
  bool is_once;               /* top */
  bool is_each;               /* dump */
  const char *gate;           /* limit: points into argv */
  uint32_t limit;             /* limit */
  struct permit_amounts kind; /* limit: of a permit gate, in its place: one kind */
};

/* What `voltgate run COMMAND` was given. */
struct under_settings {
  char *gate;         /* as written; NULL: the one of this user */
  char *take;         /* amounts */
  char *label;        /* NULL: none */
  uint64_t wait_ns;   /* 0: for ever */
  bool is_now;        /* or fail */
  bool keeps;         /* what the command leaves behind holds on to the permit */
  bool has_jobs;      /* it is make, which gets more tokens by the gate */
  char *const *words; /* the command, in argv; NULL behind the last */
};

struct command {
  enum command_kind kind;
  int argc; /* run, check: for settings_read(); argv[0] is not an option */
  char *const *argv;
  bool connects; /* check --connect, which stands first: to the servers, too */
  struct client_settings client;
  struct under_settings under;
};

/* Read the command line: which command it is, and all of it if that asks a running voltgate. *out
 * is the caller's, to be freed by command_free(). */
enum command_kind command_read(struct command *out, int argc, char *const *argv);
void command_free(struct command *c);

#endif
