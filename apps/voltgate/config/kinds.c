/* kinds.c: amounts of named kinds, and users, as they are written in options. */
#define _GNU_SOURCE /* sched_getaffinity, strndup */
#include "config/kinds.h"

#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"

/* ---- amounts ---- */

/* CPUs that the process may use. */
static uint64_t kinds_cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return (uint64_t)CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN); /* more CPUs than the set has room for */
  return online > 0 ? (uint64_t)online : 1;
}

/* The machine's memory, in bytes; of a machine with more than the highest limit, that. */
static uint64_t kinds_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  uint64_t bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
  return bytes > PERMIT_MOST ? PERMIT_MOST : bytes;
}

static bool kinds_is(const char *text, size_t size, const char *word) {
  return strlen(word) == size && memcmp(text, word, size) == 0;
}

/* Read one that ends at `end`. */
static bool kinds_read_one(const char *at, const char *end, bool is_limits,
                           struct permit_amounts *to, const char **why) {
  const char *equals = (const char *)memchr(at, '=', (size_t)(end - at));
  if (!equals) return false;
  size_t kind_size = (size_t)(equals - at), size = (size_t)(end - equals) - 1;
  uint64_t number = 0;
  if (is_limits && kinds_is(equals + 1, size, "auto")) {
    bool is_cores = kinds_is(at, kind_size, "cores");
    if (!is_cores && !kinds_is(at, kind_size, "memory")) {
      *why = "only cores and memory can be auto";
      return false;
    }
    number = is_cores ? kinds_cores() : kinds_memory();
  } else if (!permits_number(equals + 1, size, &number) || number > PERMIT_MOST ||
             (!is_limits && number == 0)) {
    return false;
  }
  *why = permits_amounts_add(to, at, kind_size, number);
  return !*why;
}

bool kinds_read(const char *text, bool is_limits, struct permit_amounts *to, const char **why) {
  struct permit_amounts amounts;
  memset(&amounts, 0, sizeof amounts);
  *why = NULL;
  for (text += strspn(text, " \t,"); *text; text += strspn(text, " \t,")) {
    const char *end = text + strcspn(text, " \t,");
    if (!kinds_read_one(text, end, is_limits, &amounts, why)) return false;
    text = end;
  }
  if (amounts.count == 0) return false;
  *to = amounts;
  return true;
}

const uint64_t *kinds_find(const struct permit_amounts *a, const char *kind) {
  for (uint64_t i = 0; i < a->count; i++) {
    if (strcmp(a->of[i].kind, kind) == 0) return &a->of[i].amount;
  }
  return NULL;
}

/* ---- users ---- */

static bool users_number(const char *name, uint32_t *id) {
  uint64_t number;
  if (!number_read(name, 0, UINT32_MAX - 1, &number)) return false;
  *id = (uint32_t)number;
  return true;
}

bool users_find(const char *name, uint32_t *uid) {
  if (users_number(name, uid)) return true;
  const struct passwd *user = getpwnam(name);
  if (user) *uid = user->pw_uid;
  return user != NULL;
}

static bool users_find_group(const char *name, uint32_t *gid) {
  if (users_number(name, gid)) return true;
  const struct group *group = getgrnam(name);
  if (group) *gid = group->gr_gid;
  return group != NULL;
}

static bool users_add(struct user_set *to, const char *name, char why[USERS_WHY]) {
  struct user_one one = {.is_group = name[0] == '@'};
  bool is_there = one.is_group ? users_find_group(name + 1, &one.id) : users_find(name, &one.id);
  if (!is_there) {
    snprintf(why, USERS_WHY, "'%.80s': there is no such %s", name, one.is_group ? "group" : "user");
    return false;
  }
  if (to->count == USERS_MOST) {
    snprintf(why, USERS_WHY, "there are more than %d users and groups", USERS_MOST);
    return false;
  }
  to->of[to->count++] = one;
  return true;
}

bool users_read(const char *text, struct user_set *to, char why[USERS_WHY]) {
  *to = (struct user_set){0};
  for (text += strspn(text, " \t,"); *text; text += strspn(text, " \t,")) {
    size_t size = strcspn(text, " \t,");
    char *name = strndup(text, size);
    bool is_right = name && users_add(to, name, why);
    if (!name) snprintf(why, USERS_WHY, "there is no memory");
    free(name);
    if (!is_right) return false;
    text += size;
  }
  if (to->count > 0) return true;
  snprintf(why, USERS_WHY, "it names no user");
  return false;
}
