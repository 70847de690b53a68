/* target.c: the target of a request.
 *
 * A path is split at its slashes first, and each segment is decoded once. So no encoded slash
 * divides segments, and "..", however it is written, ascends one segment of this path; one that
 * would ascend above the root is refused. What is left has neither empty segments, nor "." or "..",
 * nor a zero: file.c opens it below the root and nowhere else. */
#include "common/http/target.h"

/* ---- hosts ---- */

static bool are_all(struct text text, const struct byte_set *set) {
  for (size_t i = 0; i < text.size; i++) {
    if (!byte_in(set, text.at[i])) return false;
    if (text.at[i] == '%') {
      if (text.size - i < 3 || byte_hex(text.at[i + 1]) < 0 || byte_hex(text.at[i + 2]) < 0) {
        return false;
      }
    }
  }
  return true;
}

/* The inside of [...]: an IPv6 address, perhaps with an IPv4 one at its end. */
static bool is_address(struct text text) {
  size_t colons = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.at[i] == ':') {
      colons++;
    } else if (byte_hex(text.at[i]) < 0 && text.at[i] != '.') {
      return false;
    }
  }
  return colons >= 2;
}

bool target_is_host(struct text text) {
  struct text port = {NULL, 0}, host = text;
  if (text.size > 0 && text.at[0] == '[') {
    const char *close = memchr(text.at, ']', text.size);
    if (close == NULL) return false;
    host = (struct text){text.at + 1, (size_t)(close - text.at) - 1};
    port = (struct text){close + 1, text.size - host.size - 2};
    if (!is_address(host) || (port.size > 0 && port.at[0] != ':')) return false;
  } else {
    const char *colon = memchr(text.at, ':', text.size);
    if (colon != NULL) {
      host.size = (size_t)(colon - text.at);
      port = (struct text){colon, text.size - host.size};
    }
    if (host.size == 0 || !are_all(host, &byte_host)) return false;
  }
  uint64_t number;
  if (port.size <= 1) return true; /* the port may be empty, behind its colon */
  return text_number((struct text){port.at + 1, port.size - 1}, &number) && number <= 65535;
}

/* ---- paths ---- */

/* Decodes one segment. Returns its size, or -1: a percent sign without two digits, or a zero. */
static ptrdiff_t decode(char *to, struct text segment, bool *is_hidden) {
  char *start = to;
  for (size_t i = 0; i < segment.size; i++) {
    char byte = segment.at[i];
    if (byte == '%') {
      if (segment.size - i < 3) return -1;
      int high = byte_hex(segment.at[i + 1]), low = byte_hex(segment.at[i + 2]);
      if (high < 0 || low < 0 || (high == 0 && low == 0)) return -1;
      byte = (char)(high * 16 + low);
      i += 2;
    }
    if (byte == '/') *is_hidden = true; /* no file has a name with a slash */
    *to++ = byte;
  }
  return to - start;
}

static bool is_hidden_name(struct text name) {
  static const char shown[] = ".well-known"; /* RFC 8615 */
  if (name.size == sizeof shown - 1 && memcmp(name.at, shown, name.size) == 0) return false;
  return name.size > 0 && name.at[0] == '.';
}

/* Takes the last segment off. Returns the new end, or NULL if there was none. */
static char *ascend(char *start, char *end) {
  if (end == start) return NULL;
  while (end > start && end[-1] != '/') end--;
  return end > start ? end - 1 : end;
}

/* path: begins with a slash. Decoded to the same place, which it never outgrows. */
static int read_path(struct request *r, char *path, size_t size) {
  char *end = path; /* of what is written: always before what is read */
  char *limit = path + size;
  for (char *at = path; at < limit;) {
    char *slash = memchr(at + 1, '/', (size_t)(limit - at - 1));
    char *next = slash != NULL ? slash : limit;
    struct text raw = {at + 1, (size_t)(next - at) - 1};
    char *to = end > path ? end + 1 : end;
    ptrdiff_t bytes = decode(to, raw, &r->is_hidden);
    if (bytes < 0) return 400;
    struct text name = {to, (size_t)bytes};
    bool is_dot = bytes == 1 && to[0] == '.', is_up = bytes == 2 && to[0] == '.' && to[1] == '.';
    r->is_directory = bytes == 0 || is_dot || is_up;
    if (is_up) {
      end = ascend(path, end);
      if (end == NULL) return 400;
    } else if (bytes > 0 && !is_dot) {
      r->is_hidden |= is_hidden_name(name);
      if (to > path) to[-1] = '/';
      end = to + bytes;
    }
    at = next;
  }
  *end = '\0';
  r->path = path;
  return 0;
}

/* at: the path, and behind a question mark the query. */
static int read_origin(struct request *r, char *at, size_t size) {
  const char *question = memchr(at, '?', size);
  size_t path_bytes = question != NULL ? (size_t)(question - at) : size;
  if (question != NULL) {
    r->query = (struct text){question + 1, size - path_bytes - 1};
    for (size_t i = 0; i < r->query.size; i++) {
      if (!byte_in(&byte_query, r->query.at[i])) return 400;
    }
  }
  for (size_t i = 0; i < path_bytes; i++) {
    if (!byte_in(&byte_path, at[i])) return 400;
  }
  return read_path(r, at, path_bytes);
}

/* ---- the forms of a target ---- */

static int read_asterisk(struct request *r, char *at) {
  if (r->method != METHOD_OPTIONS && r->method != METHOD_UNKNOWN) return 400;
  *at = '\0';
  r->path = at;
  r->is_asterisk = true;
  return 0;
}

static bool begins_with(const char *at, size_t size, struct text beginning) {
  return size >= beginning.size && text_is((struct text){at, beginning.size}, beginning);
}

/* scheme "://" authority path. RFC 9110, 4.2: no user, and a host; 7.4: only one scheme comes this way */
static int read_absolute(struct request *r, bool is_https, char *at, size_t size) {
  struct text ours = is_https ? TEXT("https://") : TEXT("http://");
  struct text other = is_https ? TEXT("http://") : TEXT("https://");
  if (begins_with(at, size, other)) return 421;
  if (!begins_with(at, size, ours)) return 400;
  at += ours.size;
  size -= ours.size;
  size_t host = 0;
  while (host < size && at[host] != '/' && at[host] != '?') host++;
  if (!target_is_host((struct text){at, host})) return 400;
  if (host == size && r->method == METHOD_OPTIONS) return read_asterisk(r, at);
  if (host < size && at[host] == '/') return read_origin(r, at + host, size - host);
  at[host - 1] = '/'; /* no path is the path "/"; the host has been read */
  return read_origin(r, at + host - 1, size - host + 1);
}

int target_read(struct request *r, bool is_https, char *at, size_t size) {
  if (size == 0) return 400;
  if (at[0] == '/') return read_origin(r, at, size);
  if (size == 1 && at[0] == '*') return read_asterisk(r, at);
  if (r->method == METHOD_UNKNOWN) { /* CONNECT host:port is answered, not parsed */
    at[0] = '\0';
    r->path = at;
    return 0;
  }
  return read_absolute(r, is_https, at, size);
}
