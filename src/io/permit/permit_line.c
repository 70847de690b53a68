/* permit_line.c: the lines of a gate's permits, written and read. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strnlen */
#endif
#include "permit_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../core/os/check.h"

/* ---- amounts ---- */

static bool permit_line_is_kind(const char *name, size_t size) {
  static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  if (size == 0 || size >= VOLT_PERMIT_NAME || name[0] < 'a' || name[0] > 'z') return false;
  return strspn(name, rest) >= size;
}

/* How many bits a suffix shifts by; -1: it is none. */
static int permit_line_shift(const char *suffix, size_t size) {
  static const char all[] = "KMGT";
  if (size == 0) return 0;
  const char *at = size == 1 && *suffix ? strchr(all, *suffix) : NULL;
  return at ? 10 * (int)(at - all + 1) : -1;
}

/* Read "4G", `size` bytes. Returns false: it is no number, or too large. */
static bool permit_line_number(uint64_t *to, const char *text, size_t size) {
  uint64_t value = 0;
  size_t digits = 0;
  for (; digits < size && text[digits] >= '0' && text[digits] <= '9'; digits++) {
    uint64_t digit = (uint64_t)(text[digits] - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  int shift = permit_line_shift(text + digits, size - digits);
  if (digits == 0 || shift < 0 || value > UINT64_MAX >> shift) return false;
  *to = value << shift;
  return true;
}

/* Read "cores=2", `size` bytes. Returns false: it is none. */
static bool permit_line_amount(volt_permit_amount *to, const char *word, size_t size) {
  const char *equals = (const char *)memchr(word, '=', size);
  size_t name = equals ? (size_t)(equals - word) : 0;
  if (!permit_line_is_kind(word, name)) return false;
  memset(to->kind, 0, sizeof to->kind);
  memcpy(to->kind, word, name);
  return permit_line_number(&to->amount, equals + 1, size - name - 1);
}

/* ---- write ---- */

static void permit_line_put(permit_line *l, const char *format, ...) VOLT_PRINTF_(2, 3);

static void permit_line_put(permit_line *l, const char *format, ...) {
  va_list arguments;
  size_t room = VOLT_PERMIT_LINE - l->size;
  va_start(arguments, format);
  int n = vsnprintf(l->to + l->size, room, format, arguments);
  va_end(arguments);
  l->is_cut = l->is_cut || n < 0 || (size_t)n >= room;
  if (!l->is_cut) l->size += (size_t)n;
}

static int permit_line_wrong(char *why, const char *format, ...) VOLT_PRINTF_(2, 3);

static int permit_line_wrong(char *why, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(why, VOLT_PERMIT_WORDS, format, arguments);
  va_end(arguments);
  return VOLT_EINVAL;
}

static int permit_line_put_amount(permit_line *l, const volt_permit_amount *a, char *why) {
  size_t size = strnlen(a->kind, sizeof a->kind);
  if (!permit_line_is_kind(a->kind, size))
    return permit_line_wrong(why, "'%.*s' is no name of a kind", (int)size, a->kind);
  permit_line_put(l, " %s=%" PRIu64, a->kind, a->amount);
  return VOLT_OK;
}

static int permit_line_put_text(permit_line *l, const char *text, char *why) {
  static const char between[] = " ,";
  unsigned count = 0;
  for (text += strspn(text, between); *text; text += strspn(text, between), count++) {
    size_t size = strcspn(text, between);
    volt_permit_amount a;
    if (!permit_line_amount(&a, text, size))
      return permit_line_wrong(why, "'%.*s' is no amount such as cores=2 or memory=4G",
                               size < 100 ? (int)size : 100, text);
    int result = permit_line_put_amount(l, &a, why);
    if (result != VOLT_OK) return result;
    text += size;
  }
  if (count == 0) return permit_line_wrong(why, "no amounts are given");
  if (count > VOLT_PERMIT_KINDS)
    return permit_line_wrong(why, "%u amounts are given, and %d is the most", count,
                             VOLT_PERMIT_KINDS);
  return VOLT_OK;
}

static int permit_line_put_array(permit_line *l, const volt_permit_request *r, char *why) {
  int result = VOLT_OK;
  if (!r->amounts || r->count == 0) return permit_line_wrong(why, "no amounts are given");
  if (r->count > VOLT_PERMIT_KINDS)
    return permit_line_wrong(why, "%u amounts are given, and %d is the most", r->count,
                             VOLT_PERMIT_KINDS);
  for (unsigned i = 0; i < r->count && result == VOLT_OK; i++)
    result = permit_line_put_amount(l, &r->amounts[i], why);
  return result;
}

/* What people wrote, between quotes. Control characters would end the line. */
static void permit_line_put_quoted(permit_line *l, const char *key, const char *text) {
  if (!text) return;
  permit_line_put(l, " %s=\"", key);
  for (size_t i = 0; i < VOLT_PERMIT_TEXT && text[i]; i++) {
    char byte = text[i];
    if (byte == '"' || byte == '\\') permit_line_put(l, "\\");
    permit_line_put(l, "%c", ((unsigned char)byte < 32 || byte == 127) ? '?' : byte);
  }
  permit_line_put(l, "\"");
}

static int permit_line_end(permit_line *l, char *why) {
  permit_line_put(l, "\n");
  return l->is_cut ? permit_line_wrong(why, "the request is too long") : (int)VOLT_OK;
}

int permit_line_take(permit_line *l, const volt_permit_request *request, char *why) {
  static const uint64_t ms_ns = 1000000;
  const unsigned known = VOLT_PERMIT_NOW | VOLT_PERMIT_CLAIM;
  if ((request->flags & ~known) || request->reserved[0] || request->reserved[1])
    return permit_line_wrong(why, "unknown flags, or reserved is not zero");
  permit_line_put(l, "%s", request->flags & VOLT_PERMIT_CLAIM ? "claim" : "take");
  int result = request->text ? permit_line_put_text(l, request->text, why)
                             : permit_line_put_array(l, request, why);
  if (result != VOLT_OK) return result;
  bool is_now = request->flags & VOLT_PERMIT_NOW;
  bool has_wait = request->wait_ns && request->wait_ns != VOLT_NO_DEADLINE;
  if (is_now) permit_line_put(l, " wait=0");
  if (has_wait && !is_now)
    permit_line_put(l, " wait=%" PRIu64 "ms", (request->wait_ns - 1) / ms_ns + 1);
  permit_line_put_quoted(l, "label", request->label);
  permit_line_put_quoted(l, "command", request->command);
  return permit_line_end(l, why);
}

int permit_line_give(permit_line *l, const char *amounts, char *why) {
  permit_line_put(l, "give");
  int result = amounts ? permit_line_put_text(l, amounts, why) : (int)VOLT_OK;
  return result == VOLT_OK ? permit_line_end(l, why) : result;
}

/* ---- read ---- */

/* If the line begins with this word: what comes behind it; else NULL. */
static const char *permit_line_behind(const char *line, const char *word) {
  size_t size = strlen(word);
  if (strncmp(line, word, size) != 0 || (line[size] && line[size] != ' ')) return NULL;
  return line + size + strspn(line + size, " ");
}

static bool permit_line_copy_id(permit_line_read *out, const char *id, size_t size) {
  if (size == 0 || size >= sizeof out->id) return false;
  memcpy(out->id, id, size);
  out->id[size] = '\0';
  return true;
}

static bool permit_line_read_word(permit_line_read *out, const char *word, size_t size) {
  static const uint64_t ms_ns = 1000000;
  if (size > 3 && memcmp(word, "id=", 3) == 0) return permit_line_copy_id(out, word + 3, size - 3);
  if (size > 8 && memcmp(word, "wait_ms=", 8) == 0) {
    bool is_number = permit_line_number(&out->waited_ns, word + 8, size - 8);
    if (is_number && out->waited_ns <= UINT64_MAX / ms_ns) out->waited_ns *= ms_ns;
    return is_number;
  }
  return out->count < VOLT_PERMIT_KINDS &&
         permit_line_amount(&out->amounts[out->count++], word, size);
}

static bool permit_line_read_words(permit_line_read *out, const char *words) {
  while (*words) {
    size_t size = strcspn(words, " ");
    if (!permit_line_read_word(out, words, size)) return false;
    words += size;
    words += strspn(words, " ");
  }
  return true;
}

static const struct {
  const char *word;
  int result;
} permit_line_refusals[] = {
    {"busy", VOLT_EAGAIN},
    {"timeout", VOLT_ETIMEDOUT},
    {"impossible", VOLT_EINVAL},
    {"never", VOLT_EINVAL},
    {"kind", VOLT_EINVAL},
    {"syntax", VOLT_EINVAL},
    {"state", VOLT_EINVAL},
    {"full", VOLT_ERRNO(EBUSY)},
    {"who", VOLT_ERRNO(EACCES)},
    {"draining", VOLT_ECLOSED},
    {"version", VOLT_ERRNO(EPROTONOSUPPORT)},
};

static enum permit_line_says permit_line_refused(permit_line_read *out, const char *words) {
  size_t size = strcspn(words, ": ");
  out->words = words;
  out->result = VOLT_ERRNO(EPROTO);
  for (size_t i = 0; i < sizeof permit_line_refusals / sizeof permit_line_refusals[0]; i++) {
    const char *word = permit_line_refusals[i].word;
    if (strlen(word) != size || memcmp(word, words, size) != 0) continue;
    out->result = permit_line_refusals[i].result;
    out->is_state = strcmp(word, "state") == 0;
  }
  return size > 0 ? PERMIT_SAYS_REFUSED : PERMIT_SAYS_WRONG;
}

enum permit_line_says permit_line_parse(permit_line_read *out, const char *line) {
  const char *rest;
  uint64_t number;
  memset(out, 0, sizeof *out);
  if ((rest = permit_line_behind(line, "queued")) != NULL) {
    if (!permit_line_number(&number, rest, strlen(rest)) || number == 0 || number > UINT32_MAX)
      return PERMIT_SAYS_WRONG;
    out->place = (uint32_t)number;
    return PERMIT_SAYS_QUEUED;
  }
  if ((rest = permit_line_behind(line, "granted")) != NULL)
    return permit_line_read_words(out, rest) && out->count ? PERMIT_SAYS_GRANTED
                                                           : PERMIT_SAYS_WRONG;
  if ((rest = permit_line_behind(line, "given")) != NULL)
    return permit_line_read_words(out, rest) ? PERMIT_SAYS_GIVEN : PERMIT_SAYS_WRONG;
  if ((rest = permit_line_behind(line, "refused")) != NULL) return permit_line_refused(out, rest);
  if ((rest = permit_line_behind(line, "hello")) != NULL)
    return rest[0] == '1' && (!rest[1] || rest[1] == ' ') ? PERMIT_SAYS_HELLO : PERMIT_SAYS_WRONG;
  return PERMIT_SAYS_NOTHING;
}
