/* request.c: the head of a request: its first line, its lines of fields, and what they say about
 * where the request ends (RFC 9112, 6.3). */
#include "common/http/request.h"

#include "common/http/target.h"

static const struct text field_names[FIELD_COUNT] = {
    [FIELD_HOST] = {"host", 4},
    [FIELD_CONNECTION] = {"connection", 10},
    [FIELD_CONTENT_LENGTH] = {"content-length", 14},
    [FIELD_TRANSFER_ENCODING] = {"transfer-encoding", 17},
    [FIELD_EXPECT] = {"expect", 6},
    [FIELD_IF_MATCH] = {"if-match", 8},
    [FIELD_IF_NONE_MATCH] = {"if-none-match", 13},
    [FIELD_IF_MODIFIED_SINCE] = {"if-modified-since", 17},
    [FIELD_IF_UNMODIFIED_SINCE] = {"if-unmodified-since", 19},
    [FIELD_IF_RANGE] = {"if-range", 8},
    [FIELD_RANGE] = {"range", 5},
    [FIELD_AUTHORIZATION] = {"authorization", 13},
    [FIELD_ORIGIN] = {"origin", 6},
};

void request_begin(struct request *r) {
  *r = (struct request){.method = METHOD_UNKNOWN};
}

/* ---- the first line ---- */

static enum method method_of(struct text name) {
  static const struct {
    struct text name;
    enum method method;
  } methods[] = {
      {{"GET", 3}, METHOD_GET},     {{"HEAD", 4}, METHOD_HEAD},   {{"OPTIONS", 7}, METHOD_OPTIONS},
      {{"POST", 4}, METHOD_POST},   {{"PUT", 3}, METHOD_PUT},     {{"DELETE", 6}, METHOD_OTHER},
      {{"PATCH", 5}, METHOD_OTHER}, {{"TRACE", 5}, METHOD_OTHER},
  };
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    struct text known = methods[i].name; /* its letters have a case */
    if (known.size == name.size && memcmp(known.at, name.at, name.size) == 0) {
      return methods[i].method;
    }
  }
  return METHOD_UNKNOWN;
}

static bool is_token(struct text text) {
  for (size_t i = 0; i < text.size; i++) {
    if (!byte_in(&byte_token, text.at[i])) return false;
  }
  return text.size > 0;
}

static bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

/* "HTTP/1.1" and its like. Returns 0, or a status. */
static int read_version(struct request *r, struct text version) {
  const char *v = version.at;
  if (version.size != 8 || memcmp(v, "HTTP/", 5) != 0 || !is_digit(v[5]) || v[6] != '.' ||
      !is_digit(v[7])) {
    return 400;
  }
  if (v[5] != '1') return 505;
  r->is_1_0 = v[7] == '0';
  return 0;
}

/* method SP target SP version: one space each, so the target has none. */
static int read_first_line(struct request *r, bool is_https, char *line, size_t size) {
  char *space = memchr(line, ' ', size);
  if (space == NULL) return 400;
  struct text method = {line, (size_t)(space - line)};
  if (!is_token(method)) return 400;
  r->method = method_of(method);
  char *target = space + 1;
  size_t rest = size - method.size - 1;
  space = memchr(target, ' ', rest);
  if (space == NULL) return 400; /* HTTP/0.9, too */
  size_t target_bytes = (size_t)(space - target);
  int status = read_version(r, (struct text){space + 1, rest - target_bytes - 1});
  return status != 0 ? status : target_read(r, is_https, target, target_bytes);
}

/* ---- the lines of fields ---- */

/* Several lines of Connection are one list. */
static void read_connection(struct request *r, struct text list) {
  for (struct text option; text_next(&list, &option);) {
    r->says_close |= text_is(option, TEXT("close"));
    r->says_keep_alive |= text_is(option, TEXT("keep-alive"));
  }
}

/* One number, on one line: even equal ones are refused (RFC 9110, 8.6). */
static int read_length(struct request *r, struct text value) {
  if (r->has_length) return 400;
  r->has_length = true;
  return text_number(value, &r->body_bytes) ? 0 : 400;
}

/* Several lines are one list. chunked comes last, once, and without parameters. */
static int read_codings(struct request *r, struct text list) {
  r->has_coding = true;
  for (struct text coding; text_next(&list, &coding);) {
    if (r->is_chunked) return 400;
    r->is_chunked = text_is(coding, TEXT("chunked"));
    r->is_coding_unknown |= !r->is_chunked;
  }
  return 0;
}

static void read_expectations(struct request *r, struct text list) {
  for (struct text expectation; text_next(&list, &expectation);) {
    if (text_is(expectation, TEXT("100-continue"))) {
      r->says_continue = true;
    } else {
      r->is_expectation_unknown = true;
    }
  }
}

static int read_field(struct request *r, enum field field, struct text value) {
  bool is_second = r->lines[field] > 0;
  if (r->lines[field] < 2) r->lines[field]++;
  switch (field) {
    case FIELD_HOST: return is_second || !target_is_host(value) ? 400 : 0;
    case FIELD_CONNECTION: read_connection(r, value); return 0;
    case FIELD_CONTENT_LENGTH: return read_length(r, value);
    case FIELD_TRANSFER_ENCODING: return read_codings(r, value);
    case FIELD_EXPECT: read_expectations(r, value); return 0;
    default: return 0;
  }
}

static enum field field_of(struct text name) {
  int field = 0;
  while (field < FIELD_COUNT && !text_is(name, field_names[field])) field++;
  return (enum field)field;
}

/* name ":" value. No space before the colon, and none at the beginning: a line that begins with one
 * went on with the line before, in older versions of HTTP. */
static int read_line_of_field(struct request *r, struct text line, uint32_t fields_max) {
  const char *colon = memchr(line.at, ':', line.size);
  if (colon == NULL) return 400;
  struct text name = {line.at, (size_t)(colon - line.at)};
  struct text value = {colon + 1, line.size - name.size - 1};
  if (!is_token(name)) return 400;
  for (size_t i = 0; i < value.size; i++) {
    if (!byte_is_of_value(value.at[i])) return 400;
  }
  if (r->field_count++ >= fields_max) return 431;
  enum field field = field_of(name);
  return field < FIELD_COUNT ? read_field(r, field, text_trim(value)) : 0;
}

/* ---- the whole ---- */

/* What only all fields together say. Returns 0, or the status with which it is refused. */
static int check(struct request *r, const struct limits *limits) {
  if (r->lines[FIELD_HOST] == 0 && !r->is_1_0) return 400;
  if (r->has_coding) {
    if (r->has_length || r->is_1_0 || !r->is_chunked) return 400;
    if (r->is_coding_unknown) return 501;
  }
  if (r->body_bytes > limits->body_bytes) return 413;
  if (r->is_1_0) r->says_continue = r->is_expectation_unknown = false;
  return 0;
}

static enum parsed refuse(struct request *r, int status) {
  r->status = status;
  return PARSED_REFUSED;
}

/* The head has grown to its limit and is not whole. */
static enum parsed refuse_long(struct request *r, const char *bytes, size_t count) {
  if (r->has_line) return refuse(r, 431);
  const char *line = bytes + r->head_bytes;
  bool has_space = memchr(line, ' ', count - r->head_bytes) != NULL;
  return refuse(r, has_space ? 414 : 501); /* a method as long as that is not known */
}

/* A line, without its end. Returns 0, or the status with which the request is refused. */
static int read_line(struct request *r, char *line, size_t size, const struct limits *limits) {
  if (r->has_line) return read_line_of_field(r, (struct text){line, size}, limits->fields);
  if (size == 0) return 0; /* empty lines may stand before a request */
  r->has_line = true;
  return read_first_line(r, limits->is_https, line, size);
}

enum parsed request_parse(struct request *r, char *bytes, size_t count,
                          const struct limits *limits) {
  size_t visible = count < limits->head_bytes ? count : limits->head_bytes;
  while (r->searched < visible) {
    char *end = memchr(bytes + r->searched, '\n', visible - r->searched);
    if (end == NULL) break;
    char *line = bytes + r->head_bytes;
    size_t size = (size_t)(end - line);
    if (size == 0 || end[-1] != '\r') return refuse(r, 400);
    size--;
    bool is_last = size == 0 && r->has_line, was_first = !r->has_line;
    if (!is_last) {
      int status = read_line(r, line, size, limits);
      if (status != 0) return refuse(r, status);
    }
    r->searched = r->head_bytes = (size_t)(end - bytes) + 1;
    if (was_first) r->fields = (struct text){bytes + r->head_bytes, 0};
    if (is_last) {
      int status = check(r, limits);
      return status != 0 ? refuse(r, status) : PARSED_WHOLE;
    }
    r->fields.size = (size_t)(bytes + r->head_bytes - r->fields.at);
  }
  r->searched = visible;
  return visible == limits->head_bytes ? refuse_long(r, bytes, visible) : PARSED_PART;
}

void request_move(struct request *r, size_t by) {
  if (!r->has_line || by == 0) return;
  if (r->path != NULL) r->path -= by;
  if (r->query.at != NULL) r->query.at -= by;
  r->fields.at -= by;
}

bool request_persists(const struct request *r) {
  return !r->says_close && (!r->is_1_0 || r->says_keep_alive);
}

/* ---- fields ---- */

bool request_next(struct text *rest, enum field field, struct text *value) {
  while (rest->size > 0) {
    const char *end = memchr(rest->at, '\n', rest->size); /* of a line that was read before */
    struct text line = {rest->at, (size_t)(end - rest->at) - 1};
    rest->at = end + 1;
    rest->size -= line.size + 2;
    const char *colon = memchr(line.at, ':', line.size);
    struct text name = {line.at, (size_t)(colon - line.at)};
    if (text_is(name, field_names[field])) {
      *value = text_trim((struct text){colon + 1, line.size - name.size - 1});
      return true;
    }
  }
  return false;
}

bool request_field(const struct request *r, enum field field, struct text *value) {
  struct text rest = r->fields;
  return r->lines[field] == 1 && request_next(&rest, field, value);
}
