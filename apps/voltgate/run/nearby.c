/* nearby.c: which gate a command asks. */
#define _GNU_SOURCE /* asprintf */
#include "run/nearby.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *run_nearby_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *run_nearby_print(const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  int size = vasprintf(&text, format, arguments);
  va_end(arguments);
  return size < 0 ? NULL : text;
}

/* A word with a colon is an address; another one is the path of a socket. */
static char *run_nearby_of_text(const char *text) {
  return run_nearby_print("%s%s", strchr(text, ':') ? "" : "unix:", text);
}

static const char *run_nearby_variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

char *run_nearby_address(const char *written) {
  if (!written) written = run_nearby_variable("VOLTGATE_PERMITS");
  if (written) return run_nearby_of_text(written);
  const char *directory = run_nearby_variable("XDG_RUNTIME_DIR");
  return run_nearby_print("unix:%s/voltgate/permits.sock", directory ? directory : "/run");
}

int run_nearby_connect(struct run_hold *h) {
  return volt_rt_run_until(h->rt, volt_permit_client_connect_future(&h->client, h->gate),
                           VOLT_NO_DEADLINE);
}
