/* settings_fuzz.c: a command line and a file that no one has thought of. They are refused in words
 * that can be printed, or they are settings that hold what settings.h promises.
 *
 * The input: words of the command line, each on a line, until an empty line; then the file. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum { WORDS_MOST = 40 };

#define REQUIRE(condition)              \
  do {                                  \
    if (!(condition)) fail(#condition); \
  } while (0)

static void fail(const char *what) {
  fprintf(stderr, "settings_fuzz: not so: %s\n", what);
  abort();
}

static void check_words(const char *text) {
  size_t length = strlen(text);
  REQUIRE(length > 0 && text[length - 1] != '\n');
  REQUIRE(strncmp(text, "voltgate", 8) == 0 || strncmp(text, "/proc/self/fd/", 14) == 0);
}

static void check_gate(const struct settings *s, const struct gate_settings *g) {
  REQUIRE(settings_gate(s, g->name) == g);
  bool is_permit = g->protocol == PROTOCOL_PERMIT;
  REQUIRE(g->listen_count > 0 && (g->to == NULL) == is_permit);
  REQUIRE((g->kinds.count > 0) == is_permit && (is_permit || g->users == NULL));
  REQUIRE(g->limit >= 1 && g->clients >= 1 && g->tenant_default.weight >= 1);
  REQUIRE(g->protocol == PROTOCOL_TCP || (g->refuse != REFUSE_HTTP));
  REQUIRE(g->tls != TLS_MODE_SERVER || (g->tls_cert != NULL && g->tls_key != NULL));
  REQUIRE(g->tenant_by == TENANT_BY_NONE || g->tenant_ipv4_bits >= 1);
  for (size_t i = 0; i < g->tenant_count; i++) {
    const struct tenant_settings *t = &g->tenants[i];
    REQUIRE(settings_tenant(g, t->name) == t);
    REQUIRE(t->weight >= 1 && t->cost >= 1 && t->cost <= g->limit);
  }
}

static void check_settings(const struct settings *s, int argc, char *const *argv) {
  struct settings again;
  struct settings_difference d;
  REQUIRE(s->gate_count > 0);
  for (size_t i = 0; i < s->gate_count; i++) check_gate(s, &s->gates[i]);
  if (s->warnings != NULL) check_words(s->warnings);
  REQUIRE(settings_reread(&again, argc, argv) == NULL); /* the same again */
  REQUIRE(settings_compare(&d, s, &again));
  REQUIRE(d.summary == NULL && d.restart == NULL && d.gate_count == s->gate_count);
  settings_difference_free(&d);
  settings_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  char path[64], *words = malloc(count + 1), *argv[WORDS_MOST + 3], *rest;
  char name[] = "voltgate", config[] = "--config";
  int argc = 0, fd = memfd_create("settings", MFD_CLOEXEC);
  if (words == NULL || fd < 0) abort();
  memcpy(words, bytes, count);
  words[count] = '\0';
  argv[argc++] = name;
  for (rest = words; *rest != '\0' && *rest != '\n' && argc < WORDS_MOST;) {
    argv[argc++] = rest;
    char *end = strchr(rest, '\n');
    if (end != NULL) *end = '\0';
    rest = end == NULL ? words + count : end + 1;
  }
  if (rest < words + count) { /* there is a file */
    size_t length = (size_t)(words + count - rest);
    if (write(fd, rest, length) != (ssize_t)length) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    argv[argc++] = config;
    argv[argc++] = path;
  }
  struct settings s;
  char *wrong = settings_reread(&s, argc, argv);
  if (wrong != NULL) {
    check_words(wrong);
    free(wrong);
  } else {
    check_settings(&s, argc, argv);
    settings_free(&s);
  }
  close(fd);
  free(words);
  return 0;
}
