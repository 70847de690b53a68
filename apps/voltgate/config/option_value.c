/* option_value.c: the value of an option: read, compared, freed. */
#define _GNU_SOURCE /* strdup, strtok_r */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "config/kinds.h"
#include "config/options.h"
#include "config/settings.h"
#include "config/units.h"

enum { VALUE_SHOWN = 80, TEXT_MOST = 255, PATH_MOST = 4095, SOCKET_MOST = 107, LISTEN_MOST = 64 };

/* An enum is as large as an int, which it is written as. */
_Static_assert(sizeof(enum protocol) == sizeof(int) && sizeof(enum refuse) == sizeof(int),
               "an enum is an int");

static void *option_place_of(const struct option *o, void *owner) {
  return (char *)owner + o->offset;
}

static size_t *option_listen_count(const struct option *o, void *owner) {
  _Static_assert(offsetof(struct gate_settings, listen_count) ==
                     offsetof(struct gate_settings, listen) + sizeof(char **),
                 "the count is behind the list");
  return (size_t *)((char *)owner + o->offset + sizeof(char **));
}

/* ---- what is allowed ---- */

static const char *option_allowed_words(const struct option *o, char *to) {
  int at = snprintf(to, OPTION_WHY, "one of");
  for (const struct option_word *w = o->words; w->name != NULL; w++) {
    const char *bits =
        o->kind == OPTION_TENANT_BY && w->value == TENANT_BY_SOURCE ? "[/1 to 32]" : "";
    at += snprintf(to + at, OPTION_WHY - (size_t)at, "%s %s%s", w == o->words ? "" : ",", w->name,
                   bits);
  }
  return to;
}

const char *option_allowed(const struct option *o, char to[OPTION_WHY]) {
  char least[UNITS_TIME_TEXT];
  switch (o->kind) {
    case OPTION_NUMBER:
      snprintf(to, OPTION_WHY, "a number from %" PRIu64 " to %" PRIu64, o->least, o->most);
      return to;
    case OPTION_TIME:
      snprintf(to, OPTION_WHY, "a time, as 250ms, 1.5s, 2m or 1h, %s%s, at most 365d",
               o->can_be_zero ? "or 0" : "at least ",
               o->can_be_zero ? "" : units_time_text(o->least, least));
      return to;
    case OPTION_WORD:
    case OPTION_TENANT_BY: return option_allowed_words(o, to);
    case OPTION_YES: return "yes or no";
    case OPTION_FLAG: return "no value";
    case OPTION_TEXT: return "a name";
    case OPTION_FILE: return "a path";
    case OPTION_OUTPUT: return "a path, - (standard error) or none";
    case OPTION_SOCKET: return "a path of at most 107 bytes";
    case OPTION_LISTEN:
      return ":PORT, IPV4:PORT, [IPV6]:PORT, unix:PATH, unix:@NAME or fd:NAME; several behind "
             "commas";
    case OPTION_SERVER: return "HOST:PORT, [IPV6]:PORT or unix:PATH";
    case OPTION_SERVERS: return "HOST:PORT or [IPV6]:PORT; several behind commas";
    case OPTION_ADMIN: return ":PORT, IPV4:PORT, [IPV6]:PORT or unix:PATH";
    case OPTION_LIMITS:
      return "KIND=NUMBER, 1 to 8 of them behind blanks or commas, as cores=auto memory=16G; a "
             "number is at most 1T";
    case OPTION_AMOUNTS:
      return "KIND=NUMBER, 1 to 8 of them behind blanks or commas, as cores=2 memory=4G; a number "
             "is "
             "1 to 1T";
  }
  return "";
}

/* A value as it is shown: not too long, and no control characters. */
static const char *option_shown(const char *value, char to[VALUE_SHOWN + 4]) {
  size_t i = 0;
  for (; value[i] != '\0' && i < VALUE_SHOWN; i++) {
    to[i] = iscntrl((unsigned char)value[i]) ? '?' : value[i];
  }
  memcpy(to + i, value[i] == '\0' ? "" : "...", value[i] == '\0' ? 1 : 4);
  return to;
}

static bool option_not_allowed(const struct option *o, const char *value, char why[OPTION_WHY]) {
  char text[VALUE_SHOWN + 4], allowed[OPTION_WHY];
  snprintf(why, OPTION_WHY, "'%s' is not allowed: want %.250s", option_shown(value, text),
           option_allowed(o, allowed));
  return false;
}

static bool option_says(char why[OPTION_WHY], const char *words, const char *value) {
  char text[VALUE_SHOWN + 4];
  snprintf(why, OPTION_WHY, "'%s': %s", option_shown(value, text), words);
  return false;
}

/* ---- reading ---- */

static bool option_set_number(const struct option *o, void *place, const char *value) {
  uint64_t number;
  if (!number_read(value, o->least, o->most, &number)) return false;
  *(uint32_t *)place = (uint32_t)number;
  return true;
}

static bool option_set_time(const struct option *o, void *place, const char *value,
                            char why[OPTION_WHY]) {
  uint64_t ns;
  if (!units_time(value, &ns)) {
    if (*value != '\0' && value[strspn(value, "0123456789")] == '\0') {
      char words[64];
      snprintf(words, sizeof words, "a time needs a unit, as %.10sms or %.10ss", value, value);
      return option_says(why, words, value);
    }
    return option_not_allowed(o, value, why);
  }
  bool is_allowed = ns == 0 ? o->can_be_zero : ns >= o->least && ns <= o->most;
  if (!is_allowed) return option_not_allowed(o, value, why);
  *(uint64_t *)place = ns;
  return true;
}

static bool option_set_word(const struct option *o, void *place, const char *value) {
  for (const struct option_word *w = o->words; w->name != NULL; w++) {
    if (strcmp(w->name, value) != 0) continue;
    memcpy(place, &w->value, sizeof w->value);
    return true;
  }
  return false;
}

static bool option_set_tenant_by(const struct option *o, struct gate_settings *g,
                                 const char *value) {
  uint64_t bits = 32;
  if (strncmp(value, "source/", 7) == 0) {
    if (!number_read(value + 7, 1, 32, &bits)) return false;
    value = "source";
  }
  if (!option_set_word(o, &g->tenant_by, value)) return false;
  g->tenant_ipv4_bits = (uint32_t)bits;
  return true;
}

static bool option_set_yes(bool *place, const char *value) {
  bool is_yes = strcmp(value, "yes") == 0;
  if (!is_yes && strcmp(value, "no") != 0) return false;
  *place = is_yes;
  return true;
}

static bool option_set_copy(char **place, char *copy, char why[OPTION_WHY]) {
  if (copy == NULL) {
    snprintf(why, OPTION_WHY, "no memory");
    return false;
  }
  free(*place);
  *place = copy;
  return true;
}

static bool option_set_text(const struct option *o, char **place, const char *value, char *why) {
  size_t most = o->kind == OPTION_TEXT     ? TEXT_MOST
                : o->kind == OPTION_SOCKET ? SOCKET_MOST
                                           : PATH_MOST;
  size_t length = strlen(value);
  if (length == 0 || length > most) return option_not_allowed(o, value, why);
  for (const char *at = value; *at != '\0'; at++) {
    if (iscntrl((unsigned char)*at)) return option_not_allowed(o, value, why);
  }
  if (o->kind == OPTION_OUTPUT && strcmp(value, "none") == 0) {
    free(*place);
    *place = NULL;
    return true;
  }
  return option_set_copy(place, strdup(value), why);
}

static bool option_set_address(const struct option *o, char **place, const char *value, char *why) {
  const char *words;
  char *address =
      units_address(value, o->kind == OPTION_SERVER ? ADDRESS_SERVER : ADDRESS_ADMIN, &words);
  if (address == NULL) return option_says(why, words, value);
  return option_set_copy(place, address, why);
}

/* HOST:PORT,HOST:PORT, without blanks. */
static bool option_set_servers(const struct option *o, char **place, const char *value, char *why) {
  char *copy = strdup(value), *rest = copy;
  char *list = copy ? malloc(strlen(value) + 1) : NULL;
  bool is_right = list != NULL;
  size_t size = 0;
  if (!is_right) option_says(why, "no memory", value);
  while (is_right && rest != NULL) {
    const char *words = NULL;
    char *one = strsep(&rest, ",");
    one += strspn(one, " \t");
    one[strcspn(one, " \t")] = '\0';
    char *address = units_address(one, ADDRESS_SERVER, &words);
    is_right = address != NULL && strncmp(one, "unix:", 5) != 0;
    if (!is_right) option_not_allowed(o, value, why);
    if (is_right) size += (size_t)sprintf(list + size, "%s%s", size > 0 ? "," : "", one);
    free(address);
  }
  free(copy);
  if (is_right) return option_set_copy(place, list, why);
  free(list);
  return false;
}

static bool option_add_listen(const struct option *o, void *owner, const char *value, char *why) {
  char ***list = option_place_of(o, owner);
  size_t *count = option_listen_count(o, owner);
  const char *words;
  if (*count == LISTEN_MOST)
    return option_says(why, "a gate listens at 64 addresses, at most", value);
  char *address = units_address(value, ADDRESS_LISTEN, &words);
  if (address == NULL) return option_says(why, words, value);
  char **more = realloc(*list, (*count + 1) * sizeof *more);
  if (more == NULL) {
    free(address);
    return option_says(why, "no memory", value);
  }
  *list = more;
  more[(*count)++] = address;
  return true;
}

/* All of them, or none. */
static bool option_set_listen(const struct option *o, void *owner, const char *value, char *why) {
  size_t *count = option_listen_count(o, owner), before = *count;
  char *copy = strdup(value), *rest = copy;
  if (copy == NULL) return option_says(why, "no memory", value);
  bool is_right = true;
  while (is_right && rest != NULL) {
    char *one = strsep(&rest, ",");
    one += strspn(one, " \t");
    size_t length = strlen(one);
    while (length > 0 && strchr(" \t", one[length - 1]) != NULL) one[--length] = '\0';
    is_right = option_add_listen(o, owner, one, why);
  }
  free(copy);
  while (!is_right && *count > before) free((*(char ***)option_place_of(o, owner))[--*count]);
  return is_right;
}

static bool option_set_amounts(const struct option *o, struct permit_amounts *place,
                               const char *value, char *why) {
  struct permit_amounts amounts;
  const char *words = NULL;
  if (!kinds_read(value, o->kind == OPTION_LIMITS, &amounts, &words)) {
    return words ? option_says(why, words, value) : option_not_allowed(o, value, why);
  }
  *place = amounts;
  return true;
}

bool option_set(const struct option *o, void *owner, const char *value, char why[OPTION_WHY]) {
  void *place = option_place_of(o, owner);
  switch (o->kind) {
    case OPTION_NUMBER:
      return option_set_number(o, place, value) || option_not_allowed(o, value, why);
    case OPTION_TIME: return option_set_time(o, place, value, why);
    case OPTION_WORD: return option_set_word(o, place, value) || option_not_allowed(o, value, why);
    case OPTION_YES: return option_set_yes(place, value) || option_not_allowed(o, value, why);
    case OPTION_FLAG: *(bool *)place = true; return true;
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_OUTPUT:
    case OPTION_SOCKET: return option_set_text(o, place, value, why);
    case OPTION_LISTEN: return option_set_listen(o, owner, value, why);
    case OPTION_SERVER:
    case OPTION_ADMIN: return option_set_address(o, place, value, why);
    case OPTION_SERVERS: return option_set_servers(o, place, value, why);
    case OPTION_TENANT_BY:
      return option_set_tenant_by(o, owner, value) || option_not_allowed(o, value, why);
    case OPTION_LIMITS:
    case OPTION_AMOUNTS: return option_set_amounts(o, place, value, why);
  }
  return false;
}

/* ---- what was read ---- */

static bool option_is_text(const struct option *o) {
  switch (o->kind) {
    case OPTION_TEXT:
    case OPTION_FILE:
    case OPTION_OUTPUT:
    case OPTION_SOCKET:
    case OPTION_SERVER:
    case OPTION_SERVERS:
    case OPTION_ADMIN: return true;
    default: return false;
  }
}

/* Of what has no memory of its own. */
static size_t option_size_of(const struct option *o) {
  switch (o->kind) {
    case OPTION_NUMBER: return sizeof(uint32_t);
    case OPTION_TIME: return sizeof(uint64_t);
    case OPTION_YES:
    case OPTION_FLAG: return sizeof(bool);
    case OPTION_LIMITS:
    case OPTION_AMOUNTS: return sizeof(struct permit_amounts);
    default: return sizeof(int);
  }
}

void option_clear(const struct option *o, void *owner) {
  void *place = option_place_of(o, owner);
  if (o->kind == OPTION_LISTEN) {
    char ***list = place;
    size_t *count = option_listen_count(o, owner);
    while (*count > 0) free((*list)[--*count]);
    free(*list);
    *list = NULL;
  } else if (option_is_text(o)) {
    free(*(char **)place);
    *(char **)place = NULL;
  } else {
    memset(place, 0, option_size_of(o));
  }
}

static bool option_is_equal_text(const char *one, const char *other) {
  return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

static bool option_is_equal_list(const struct gate_settings *one,
                                 const struct gate_settings *other) {
  if (one->listen_count != other->listen_count) return false;
  for (size_t i = 0; i < one->listen_count; i++) {
    if (strcmp(one->listen[i], other->listen[i]) != 0) return false;
  }
  return true;
}

bool option_is_equal(const struct option *o, const void *one, const void *other) {
  const void *a = (const char *)one + o->offset, *b = (const char *)other + o->offset;
  if (o->kind == OPTION_LISTEN) return option_is_equal_list(one, other);
  if (option_is_text(o)) return option_is_equal_text(*(char *const *)a, *(char *const *)b);
  if (o->kind == OPTION_TENANT_BY) {
    const struct gate_settings *g = one, *h = other;
    return g->tenant_by == h->tenant_by && g->tenant_ipv4_bits == h->tenant_ipv4_bits;
  }
  return memcmp(a, b, option_size_of(o)) == 0;
}

bool options_preset(enum option_owner owner_kind, void *owner) {
  char why[OPTION_WHY];
  for (size_t i = 0; i < options_count(); i++) {
    const struct option *o = &options_table[i];
    if (o->owner != owner_kind || o->preset == NULL) continue;
    if (!option_set(o, owner, o->preset, why)) return false;
  }
  return true;
}

void options_clear(enum option_owner owner_kind, void *owner) {
  for (size_t i = 0; i < options_count(); i++) {
    if (options_table[i].owner == owner_kind) option_clear(&options_table[i], owner);
  }
}
