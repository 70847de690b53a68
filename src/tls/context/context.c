/* context.c: contexts: counted, loaded anew while streams run, chosen by name. context.h has the
 * invariant and the race.
 *
 * Labels: tls */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include "context.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONTEXT_NAME_MAX = 253 };

int volt_tls_words_put_(volt_tls_words_ *words, int result, const char *format, ...) {
  if (!words->to || words->room == 0) return result;
  va_list args;
  va_start(args, format);
  (void)vsnprintf(words->to, words->room, format, args);
  va_end(args);
  return result;
}

const char *volt_tls_words_of_openssl_(void) {
  unsigned long error = ERR_peek_last_error();
  const char *reason = error ? ERR_reason_error_string(error) : NULL;
  return reason ? reason : "unknown reason";
}

/* ---- life ---- */

int volt_tls_context_create(volt_tls_context **out, enum volt_tls_role role,
                            const volt_tls_config *config, char *why, size_t why_size) {
  volt_tls_words_ words = {why, why_size};
  (void)volt_tls_words_put_(&words, VOLT_OK, "%s", "");
  if (!out || (role != VOLT_TLS_SERVER && role != VOLT_TLS_CLIENT)) return VOLT_EINVAL;
  volt_tls_context *c = (volt_tls_context *)calloc(1, sizeof *c);
  if (!c) return VOLT_ENOMEM;
  volt_store_relaxed(&c->holders, 1); /* not shared yet */
  c->role = role;
  c->log = -1;
  volt_short_lock_init_(&c->lock);
  c->key_count = 1;
  int before = errno; /* the system and OpenSSL set it */
  int result = volt_tls_ticket_key_make(&c->keys[0]);
  if (result == VOLT_OK) result = volt_tls_load_(c, config, &c->now, &words);
  if (result == VOLT_OK) {
    *out = c;
  } else {
    volt_tls_context_drop(c);
  }
  errno = before;
  return result;
}

int volt_tls_context_reload(volt_tls_context *c, const volt_tls_config *config, char *why,
                            size_t why_size) {
  volt_tls_words_ words = {why, why_size};
  (void)volt_tls_words_put_(&words, VOLT_OK, "%s", "");
  SSL_CTX *now = NULL;
  int before = errno;
  int result = volt_tls_load_(c, config, &now, &words);
  errno = before;
  if (result != VOLT_OK) return result;
  volt_short_lock_lock_(&c->lock);
  SSL_CTX *replaced = c->now;
  c->now = now;
  volt_short_lock_unlock_(&c->lock);
  SSL_CTX_free(replaced);
  return VOLT_OK;
}

volt_tls_context *volt_tls_context_hold(volt_tls_context *c) {
  (void)volt_fetch_add_relaxed(&c->holders, 1); /* relaxed, no data: the caller holds it already */
  return c;
}

static void context_free_name(volt_tls_name_ *n) {
  volt_tls_context_drop(n->other);
  free(n);
}

void volt_tls_context_drop(volt_tls_context *c) {
  /* tls:D1 <-> tls:D1: the last one frees what the others have used */
  if (!c || volt_fetch_add_acq_rel(&c->holders, UINT32_MAX) != 1) return;
  volt_tls_name_ *next;
  for (volt_tls_name_ *n = c->names; n; n = next) {
    next = n->next;
    context_free_name(n);
  }
  SSL_CTX_free(c->now);
  if (c->log >= 0) (void)close(c->log);
  OPENSSL_cleanse(c->keys, sizeof c->keys);
  free(c);
}

SSL_CTX *volt_tls_context_now_(volt_tls_context *c) {
  volt_short_lock_lock_(&c->lock);
  SSL_CTX *now = c->now;
  (void)SSL_CTX_up_ref(now); /* R5 */
  volt_short_lock_unlock_(&c->lock);
  return now;
}

/* ---- names ---- */

static char context_small(char c) {
  return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool context_is_name(const char *small, const char *name) {
  while (*small && *small == context_small(*name)) small++, name++;
  return *small == *name;
}

/* A pattern "*.example.org" is for one label more. */
static bool context_matches(const char *pattern, const char *name) {
  if (pattern[0] != '*' || pattern[1] != '.') return context_is_name(pattern, name);
  const char *rest = strchr(name, '.');
  return rest && rest != name && context_is_name(pattern + 1, rest);
}

volt_tls_context *volt_tls_context_find_(volt_tls_context *c, const char *name) {
  volt_tls_context *found = NULL;
  volt_short_lock_lock_(&c->lock);
  for (volt_tls_name_ *n = c->names; n; n = n->next) {
    bool is_pattern = n->name[0] == '*';
    if ((found && is_pattern) || !context_matches(n->name, name)) continue;
    found = n->other;
    if (!is_pattern) break; /* the name itself comes before a pattern */
  }
  if (found) (void)volt_tls_context_hold(found);
  volt_short_lock_unlock_(&c->lock);
  return found;
}

/* Under the lock: take the entry of the name out. Returns it, or NULL. */
static volt_tls_name_ *context_take_name(volt_tls_context *c, const char *name) {
  for (volt_tls_name_ **at = &c->names; *at; at = &(*at)->next) {
    if (!context_is_name((*at)->name, name)) continue;
    volt_tls_name_ *taken = *at;
    *at = taken->next;
    return taken;
  }
  return NULL;
}

int volt_tls_context_name(volt_tls_context *c, const char *name, volt_tls_context *other) {
  size_t size = name ? strlen(name) : 0;
  if (c->role != VOLT_TLS_SERVER || size == 0 || size > CONTEXT_NAME_MAX) return VOLT_EINVAL;
  if (other && (other->role != VOLT_TLS_SERVER || other == c)) return VOLT_EINVAL;
  volt_tls_name_ *fresh = NULL;
  if (other) {
    fresh = (volt_tls_name_ *)malloc(sizeof *fresh + size + 1);
    if (!fresh) return VOLT_ENOMEM;
    fresh->other = volt_tls_context_hold(other);
    for (size_t i = 0; i <= size; i++) fresh->name[i] = context_small(name[i]);
  }
  volt_short_lock_lock_(&c->lock);
  volt_tls_name_ *before = context_take_name(c, name);
  if (fresh) {
    fresh->next = c->names;
    c->names = fresh;
  }
  volt_short_lock_unlock_(&c->lock);
  if (before) context_free_name(before);
  return VOLT_OK;
}

/* ---- the log of keys ---- */

static void context_log(const SSL *ssl, const char *line) {
  volt_tls_context *c = volt_tls_context_stream_(ssl)->context;
  char text[512];
  int size = snprintf(text, sizeof text, "%s\n", line);
  volt_short_lock_lock_(&c->lock);
  int log = c->log >= 0 ? fcntl(c->log, F_DUPFD_CLOEXEC, 0) : -1;
  volt_short_lock_unlock_(&c->lock);
  if (log < 0) size = 0;
  if (size > 0 && (size_t)size < sizeof text) (void)!write(log, text, (size_t)size);
  if (log >= 0) (void)close(log);
  OPENSSL_cleanse(text, sizeof text);
}

/* A regular file alone: a write to another one may wait, or raise SIGPIPE. */
static int context_open_log(const char *path, int *log) {
  struct stat status;
  *log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (*log < 0) return errno == ENXIO ? (int)VOLT_EINVAL : VOLT_ERRNO(errno);
  if (fstat(*log, &status) == 0 && S_ISREG(status.st_mode)) return VOLT_OK;
  (void)close(*log);
  return VOLT_EINVAL;
}

int volt_tls_context_log_keys(volt_tls_context *c, const char *path) {
  int kept = errno;
  int log = -1;
  int result = path ? context_open_log(path, &log) : VOLT_OK;
  errno = kept;
  if (result != VOLT_OK) return result;
  volt_short_lock_lock_(&c->lock);
  int before = c->log;
  c->log = log;
  volt_short_lock_unlock_(&c->lock);
  if (before >= 0) (void)close(before);
  return VOLT_OK;
}

void volt_tls_context_log_to_(SSL_CTX *ssl) {
  SSL_CTX_set_keylog_callback(ssl, context_log);
}
