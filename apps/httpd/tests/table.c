/* table.c: requests.table, and a site to run it on. */
#define _GNU_SOURCE
#include "table.h"

#include <stdio.h>
#include <stdlib.h>

const struct terms table_terms = {
    .limits = {.head_bytes = 4096, .fields = 20, .body_bytes = 10000, .requests = 10}};

#define ETAG "\"t-10\""

/* ---- rows ---- */

void *table_open(void) {
  FILE *file = fopen("requests.table", "re");
  if (file == NULL) perror("requests.table");
  return file;
}

void table_close(void *table) {
  fclose(table);
}

static void put(struct table_row *row, const char *bytes, size_t count) {
  if (row->count + count > TABLE_BYTES_MAX) abort();
  memcpy(row->bytes + row->count, bytes, count);
  row->count += count;
}

/* Writes what one escape stands for. Returns what is behind it. */
static const char *put_escape(struct table_row *row, const char *at) {
  char byte = *at++;
  switch (byte) {
    case 'r': put(row, "\r", 1); break;
    case 'n': put(row, "\n", 1); break;
    case 't': put(row, "\t", 1); break;
    case '0': put(row, "\0", 1); break;
    case 'e': put(row, "\r\n", 2); break;
    case 'h': put(row, "HTTP/1.1\r\nHost: a\r\n", 19); break;
    case 'E': put(row, ETAG, strlen(ETAG)); break;
    case 'x':
      byte = (char)(byte_hex(at[0]) * 16 + byte_hex(at[1]));
      put(row, &byte, 1);
      return at + 2;
    case '{': {
      char *end;
      unsigned long times = strtoul(at, &end, 10);
      while (times-- > 0) put(row, end + 1, 1);
      return end + 2;
    }
    default: put(row, &byte, 1);
  }
  return at;
}

bool table_next(void *table, struct table_row *row) {
  char line[4096];
  while (fgets(line, sizeof line, table) != NULL) {
    row->line++;
    line[strcspn(line, "\n")] = '\0';
    char *first = strstr(line, " | ");
    if (line[0] == '#' || line[0] == '\0') continue;
    char *second = first != NULL ? strstr(first + 3, " | ") : NULL;
    if (second == NULL) abort();
    snprintf(row->expected, sizeof row->expected, "%.*s", (int)(first - line), line);
    snprintf(row->section, sizeof row->section, "%.*s", (int)(second - first - 3), first + 3);
    row->count = 0;
    for (const char *at = second + 3; *at != '\0';) {
      if (*at == '\\') {
        at = put_escape(row, at + 1);
      } else {
        put(row, at++, 1);
      }
    }
    return true;
  }
  return false;
}

/* ---- the site ---- */

int site_find(const struct request *r, struct resource *resource) {
  static const struct {
    const char *path;
    uint64_t size;
    const char *etag;
  } files[] = {
      {"", 5, "\"i\""},        {"index.html", 5, "\"i\""},     {"a.txt", 10, ETAG},
      {"empty", 0, "W/\"e\""}, {"dir/index.html", 4, "\"d\""}, {"big.bin", 200000, "\"b\""}};
  if (strcmp(r->path, "dir") == 0 && !r->is_directory) return 301;
  const char *path = strcmp(r->path, "dir") == 0 ? "dir/index.html" : r->path;
  if (r->is_directory && path == r->path && path[0] != '\0') return 404;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    if (strcmp(path, files[i].path) != 0) continue;
    *resource = (struct resource){
        .size = files[i].size, .modified = INT64_C(784111777), .type = "text/plain"};
    snprintf(resource->etag, sizeof resource->etag, "%s", files[i].etag);
    return 200;
  }
  return 404;
}

/* ---- exchanges ---- */

static void collect(struct exchange *x, const char *bytes, size_t count) {
  x->bytes = realloc(x->bytes, x->count + count + 1);
  if (x->bytes == NULL) abort();
  if (bytes != NULL) {
    memcpy(x->bytes + x->count, bytes, count);
  } else {
    memset(x->bytes + x->count, 'x', count);
  }
  x->count += count;
  x->bytes[x->count] = '\0';
}

static void add_outcome(struct exchange *x, const char *word) {
  size_t used = strlen(x->outcome);
  snprintf(x->outcome + used, sizeof x->outcome - used, "%s%s", used > 0 ? " " : "", word);
}

static bool has(const char *head, size_t size, const char *name) {
  return memmem(head, size, name, strlen(name)) != NULL;
}

static const char *wrong_with(const char *head, size_t size, int status) {
  bool length = has(head, size, "\r\nContent-Length: ");
  if (status == 100) return length ? "a 100 with a length" : NULL;
  if (!has(head, size, "\r\nDate: ")) return "no Date";
  if (status == 204 && length) return "a 204 with a length";
  if (status != 204 && status != 304 && !length) return "no Content-Length";
  if (status == 405 && !has(head, size, "\r\nAllow: ")) return "405 without Allow";
  if (status == 416 && !has(head, size, "\r\nContent-Range: bytes */")) return "416 without a size";
  if (status == 206 && !has(head, size, "\r\nContent-Range: bytes "))
    return "206 without its range";
  if (status == 301 && !has(head, size, "\r\nLocation: /")) return "301 without Location";
  if (status == 503 && !has(head, size, "\r\nRetry-After: ")) return "503 without Retry-After";
  return NULL;
}

/* Reads the heads in what has been written since the last call, which may end with a short text. */
static void read_answers(struct exchange *x, struct text out, bool *closes) {
  while (out.size > 0) {
    const char *end = memmem(out.at, out.size, "\r\n\r\n", 4);
    if (end == NULL || out.size < 12 || memcmp(out.at, "HTTP/1.1 ", 9) != 0) {
      x->wrong = "an answer that cannot be read";
      return;
    }
    size_t size = (size_t)(end - out.at) + 4;
    char word[4] = {out.at[9], out.at[10], out.at[11], '\0'};
    add_outcome(x, word);
    if (*closes) x->wrong = "an answer behind the last";
    const char *wrong = wrong_with(out.at, size, atoi(word));
    if (wrong != NULL) x->wrong = wrong;
    *closes |= has(out.at, size, "\r\nConnection: close\r\n");
    out.at += size;
    out.size -= size;
    const char *next = memmem(out.at, out.size, "HTTP/1.1 ", 9);
    size_t text = next != NULL ? (size_t)(next - out.at) : out.size;
    out.at += text;
    out.size -= text;
  }
}

static void flush(struct exchange *x, struct session *s, bool *closes) {
  struct text out = session_out(s);
  read_answers(x, out, closes);
  collect(x, out.at, out.size);
  session_sent(s);
}

static void find(struct exchange *x, struct session *s, bool *closes) {
  struct resource resource;
  struct response response;
  const struct request *r = &s->request;
  if (strstr(r->path, "//") != NULL || strstr(r->path, "/../") != NULL || r->path[0] == '/') {
    x->wrong = "a path that is not normal";
  }
  int status = site_find(r, &resource);
  session_answer(s, status, &resource, TABLE_NOW, &response);
  flush(x, s, closes);
  if (status == 200 && response.count > 0) {
    if (response.first + response.count > resource.size) x->wrong = "a part beyond the end";
    collect(x, NULL, response.count);
  }
}

void exchange_run(struct exchange *x, const char *bytes, size_t count, size_t piece) {
  struct session s;
  size_t in_room = table_terms.limits.head_bytes + SESSION_BODY_ROOM, sent = 0;
  char *in = malloc(in_room), *out = malloc(SESSION_OUT_BYTES);
  bool closes = false;
  *x = (struct exchange){.bytes = NULL};
  collect(x, NULL, 0);
  session_begin(&s, &table_terms, in, in_room, out, 0);
  for (;;) {
    enum session_step step = session_next(&s, TABLE_NOW);
    if (s.out.is_cut) x->wrong = "an answer that was cut";
    if (step == SESSION_FIND) {
      find(x, &s, &closes);
      continue;
    }
    flush(x, &s, &closes);
    if (step == SESSION_FLUSH) continue;
    if (step == SESSION_END || sent == count) break;
    size_t room;
    char *to = session_room(&s, &room);
    if (room == 0) abort();
    size_t most = room < piece ? room : piece;
    size_t part = count - sent < most ? count - sent : most;
    memcpy(to, bytes + sent, part);
    session_received(&s, part);
    sent += part;
  }
  bool ended = session_next(&s, TABLE_NOW) == SESSION_END;
  if (ended != closes) x->wrong = "the connection's end is not what was said";
  bool idle = session_is_idle(&s) ||
              (!s.request.has_line && s.end > s.start && count > 0 && bytes[count - 1] == '\n');
  add_outcome(x, ended ? "close" : idle ? "keep" : "wait");
  free(in);
  free(out);
}

void exchange_free(struct exchange *x) {
  free(x->bytes);
}
