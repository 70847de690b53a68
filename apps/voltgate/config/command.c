/* command.c: command.h. */
#define _GNU_SOURCE /* explicit_bzero, strdup */
#include "config/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "config/help.h"
#include "config/kinds.h"
#include "config/reading.h"
#include "config/units.h"

static const struct {
  const char *name;
  enum command_kind kind;
} commands[] = {
    {"run", COMMAND_RUN},       {"check", COMMAND_CHECK},   {"top", COMMAND_TOP},
    {"limit", COMMAND_LIMIT},   {"reload", COMMAND_RELOAD}, {"drain", COMMAND_DRAIN},
    {"status", COMMAND_STATUS}, {"dump", COMMAND_DUMP},     {"permits", COMMAND_PERMITS},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static enum command_kind command_wrong(const char *what, const char *words) {
  fprintf(stderr, "voltgate: '%.80s' %s\n", what, words);
  return COMMAND_WRONG;
}

/* Whether one of the words asks for help or the version, which is then printed. */
static bool command_is_shown(int argc, char *const *argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      help_print(stdout);
      return true;
    }
    if (strcmp(argv[i], "--version") == 0) {
      puts("voltgate " VOLTGATE_VERSION);
      return true;
    }
  }
  return false;
}

/* ---- commands that ask ---- */

/* Whether this command takes the option. */
static bool command_takes(enum command_kind kind, const struct option *o) {
  bool is_of_top = strcmp(o->name, "interval") == 0 || strcmp(o->name, "once") == 0;
  bool is_of_dump = strcmp(o->name, "each") == 0;
  return (!is_of_top || kind == COMMAND_TOP) && (!is_of_dump || kind == COMMAND_DUMP);
}

static bool command_take_option(struct command *c, bool given[OPTIONS_MOST], const struct option *o,
                                const char *value) {
  char why[OPTION_WHY];
  bool *is_given = &given[o - options_table];
  if (!command_takes(c->kind, o)) {
    fprintf(stderr, "voltgate: --%s: it is an option of %s\n", o->name,
            strcmp(o->name, "each") == 0 ? "dump" : "top");
  } else if (*is_given) {
    fprintf(stderr, "voltgate: --%s: it is given twice\n", o->name);
  } else if (!option_set(o, &c->client, value, why)) {
    fprintf(stderr, "voltgate: --%s: %s\n", o->name, why);
  } else {
    *is_given = true;
    return true;
  }
  return false;
}

/* The limit of one kind of a permit gate. */
static bool command_take_kind(struct command *c, const char *word) {
  const char *why;
  return kinds_read(word, true, &c->client.kind, &why) && c->client.kind.count == 1;
}

static bool command_take_word(struct command *c, unsigned *words, const char *word) {
  uint64_t limit;
  unsigned at = (*words)++;
  if (c->kind == COMMAND_LIMIT && at == 0) {
    c->client.gate = word;
    return true;
  }
  if (c->kind == COMMAND_LIMIT && at == 1) {
    if (number_read(word, 1, 1000000, &limit)) {
      c->client.limit = (uint32_t)limit;
      return true;
    }
    if (command_take_kind(c, word)) return true;
    command_wrong(word, "is no limit: want a number from 1 to 1000000, or KIND=NUMBER");
    return false;
  }
  command_wrong(word, "is one word too many");
  return false;
}

static bool command_take_token(struct client_settings *client) {
  char why[OPTION_WHY];
  if (client->token_file != NULL) {
    client->token = reading_read_token(client->token_file, why);
    if (client->token != NULL) return true;
    fprintf(stderr, "voltgate: --token-file: '%.200s': %s\n", client->token_file, why);
    return false;
  }
  const char *token = getenv("VOLTGATE_TOKEN");
  if (token == NULL || *token == '\0') return true;
  client->token = reading_token_of_text(token, why);
  if (client->token == NULL) fprintf(stderr, "voltgate: VOLTGATE_TOKEN: %s\n", why);
  return client->token != NULL;
}

static bool command_read_client(struct command *c) {
  struct arguments a = {.argc = c->argc, .argv = c->argv, .next = 1};
  const struct option *o;
  const char *value;
  char why[OPTION_WHY];
  bool given[OPTIONS_MOST] = {false}, is_right = options_preset(OPTION_OF_CLIENT, &c->client);
  unsigned words = 0;
  enum argument_kind kind;
  while ((kind = arguments_next(&a, OPTION_OF_CLIENT, &o, &value, why)) != ARGUMENT_END) {
    if (kind == ARGUMENT_OPTION) is_right &= command_take_option(c, given, o, value);
    if (kind == ARGUMENT_WORD) is_right &= command_take_word(c, &words, value);
    if (kind == ARGUMENT_WRONG) {
      fprintf(stderr, "voltgate: %s\n", why);
      is_right = false;
    }
  }
  if (c->kind == COMMAND_LIMIT && words < 2) {
    fputs("voltgate: limit: want voltgate limit GATE N, or GATE KIND=N\n", stderr);
    is_right = false;
  }
  return command_take_token(&c->client) && is_right;
}

/* ---- a command under a permit ---- */

/* Whether this is the end of the options: the command, or -- before it. */
static bool command_begins(const char *word) {
  return word[0] != '-' || strcmp(word, "--") == 0;
}

/* `voltgate run` begins a command under a permit, and not a gate: what follows is such an option, or the
 * command. */
static bool command_is_under(int argc, char *const *argv) {
  char name[40];
  if (argc < 3 || strcmp(argv[1], "run") != 0) return false;
  if (command_begins(argv[2])) return true;
  if (strncmp(argv[2], "--", 2) != 0) return false;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(argv[2] + 2, "="), argv[2] + 2);
  return options_find(name, OPTION_OF_UNDER) != NULL;
}

static bool command_take_under(struct command *c, struct arguments *a, bool given[OPTIONS_MOST]) {
  const struct option *o;
  const char *value;
  char why[OPTION_WHY];
  switch (arguments_next(a, OPTION_OF_UNDER, &o, &value, why)) {
    case ARGUMENT_OPTION:
      if (given[o - options_table]) {
        fprintf(stderr, "voltgate: run: --%s: it is given twice\n", o->name);
        return false;
      }
      given[o - options_table] = true;
      if (option_set(o, &c->under, value, why)) return true;
      fprintf(stderr, "voltgate: run: --%s: %s\n", o->name, why);
      return false;
    default: fprintf(stderr, "voltgate: run: %s\n", why); return false;
  }
}

/* argv[1] is "run". */
static enum command_kind command_read_under(struct command *c, int argc, char *const *argv) {
  struct arguments a = {.argc = argc, .argv = argv, .next = 2};
  bool given[OPTIONS_MOST] = {false}, is_right = options_preset(OPTION_OF_UNDER, &c->under);
  c->kind = COMMAND_UNDER;
  while (is_right && a.next < argc && !command_begins(argv[a.next]))
    is_right = command_take_under(c, &a, given);
  if (a.next < argc && strcmp(argv[a.next], "--") == 0) a.next++;
  c->under.words = argv + a.next;
  if (is_right && a.next >= argc) {
    fputs("voltgate: run: which command? voltgate run [options] [--] COMMAND [ARGUMENTS]\n",
          stderr);
    is_right = false;
  }
  if (is_right && c->under.has_jobs && c->under.keeps) {
    fputs("voltgate: run: --jobs and --keep: only one of them\n", stderr);
    is_right = false;
  }
  if (is_right) return COMMAND_UNDER;
  command_free(c);
  return c->kind = COMMAND_WRONG_UNDER;
}

/* ---- all of it ---- */

enum command_kind command_read(struct command *out, int argc, char *const *argv) {
  *out = (struct command){.kind = COMMAND_RUN, .argc = argc, .argv = argv};
  if (command_is_under(argc, argv)) return command_read_under(out, argc, argv);
  if (command_is_shown(argc, argv)) return out->kind = COMMAND_SHOWN;
  if (argc > 1 && argv[1][0] != '-') {
    int i = 0;
    while (i < COMMANDS && strcmp(commands[i].name, argv[1]) != 0) i++;
    if (i == COMMANDS) {
      return out->kind = command_wrong(argv[1],
                                       "is no command: want run, check, top, limit, reload, drain, "
                                       "status, dump or permits; see voltgate --help");
    }
    out->kind = commands[i].kind;
    out->argc--;
    out->argv++;
  }
  out->connects =
      out->kind == COMMAND_CHECK && out->argc > 1 && strcmp(out->argv[1], "--connect") == 0;
  if (out->connects) {
    out->argc--;
    out->argv++;
  }
  if (out->kind == COMMAND_RUN || out->kind == COMMAND_CHECK) return out->kind;
  if (out->kind == COMMAND_PERMITS && out->argc > 1 && strcmp(out->argv[1], "first") != 0)
    return out->kind =
               command_wrong(out->argv[1], "is one word too many: permits takes first, or none");
  if (out->kind == COMMAND_PERMITS) return out->kind;
  if (!command_read_client(out)) {
    command_free(out);
    out->kind = COMMAND_WRONG;
  }
  return out->kind;
}

void command_free(struct command *c) {
  if (c->client.token != NULL) {
    explicit_bzero(c->client.token, strlen(c->client.token));
    free(c->client.token);
    c->client.token = NULL;
  }
  options_clear(OPTION_OF_CLIENT, &c->client);
  options_clear(OPTION_OF_UNDER, &c->under);
}
