/* cluster_name.c: what a gate's semaphore is called at the ensemble. */
#include "config/cluster_name.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/settings.h"

enum { NAME_HASH = 17 /* "-" and 16 digits */, NAME_WHOLE = 512 };

static bool cluster_name_has(unsigned char byte) {
  return byte < 0x80 && (isalnum(byte) || byte == '.' || byte == '_' || byte == '-');
}

bool cluster_name_is_one(const char *name) {
  size_t size = strlen(name);
  if (size == 0 || size > CLUSTER_NAME_MAX || name[0] == '.') return false;
  for (size_t i = 0; i < size; i++) {
    if (!cluster_name_has((unsigned char)name[i])) return false;
  }
  return true;
}

static uint64_t cluster_name_hash(const char *name) { /* FNV-1a */
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return hash;
}

static size_t cluster_name_escape(char *to, unsigned char byte) {
  return (size_t)sprintf(to, "_%02x", byte);
}

const char *cluster_name(char to[CLUSTER_NAME_MAX + 1], const struct gate_settings *g,
                         const char *tenant) {
  char whole[NAME_WHOLE];
  size_t size = 0;
  const char *gate = g->cluster_name ? g->cluster_name : g->name;
  if (*gate == '.') size += cluster_name_escape(whole + size, (unsigned char)*gate++);
  size += (size_t)snprintf(whole + size, CLUSTER_NAME_MAX + 1, "%s%s", gate, tenant ? "." : "");
  for (; tenant && *tenant && size + 4 < sizeof whole; tenant++) {
    unsigned char byte = (unsigned char)*tenant;
    if (byte == '.' || byte == '_' || !cluster_name_has(byte)) {
      size += cluster_name_escape(whole + size, byte);
    } else {
      whole[size++] = (char)byte;
    }
  }
  whole[size] = '\0';
  if (size > CLUSTER_NAME_MAX) {
    unsigned long long hash = cluster_name_hash(whole);
    snprintf(whole + CLUSTER_NAME_MAX - NAME_HASH, NAME_HASH + 1, "-%016llx", hash);
  }
  memcpy(to, whole, strlen(whole) + 1);
  return to;
}
