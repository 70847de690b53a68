/* conditions.c: conditional requests and ranges.
 *
 * What cannot be read is handled so that the answer is never wrong: a date or a range that is none
 * is as if it were not there; a list of entity tags that is none matches nothing. */
#include "conditions.h"

#include "common/http/date.h"

/* ---- entity tags ---- */

struct tag {
  struct text opaque; /* with its quotes */
  bool is_weak;
};

/* Takes an entity tag off the front: [W/] " etagc* " */
static bool take_tag(struct text *list, struct tag *tag) {
  tag->is_weak = list->size >= 2 && list->at[0] == 'W' && list->at[1] == '/';
  size_t start = tag->is_weak ? 2 : 0;
  if (list->size <= start || list->at[start] != '"') return false;
  const char *open = list->at + start;
  const char *close = memchr(open + 1, '"', list->size - start - 1);
  if (close == NULL) return false;
  tag->opaque = (struct text){open, (size_t)(close - open) + 1};
  for (size_t i = 1; i < tag->opaque.size - 1; i++) {
    if (open[i] == ' ' || open[i] == '\t') return false;
  }
  list->size -= start + tag->opaque.size;
  list->at = close + 1;
  return true;
}

/* Takes the next one of a list with commas, which may have empty elements. */
static bool next_tag(struct text *list, struct tag *tag) {
  *list = text_trim(*list);
  while (list->size > 0 && list->at[0] == ',') {
    *list = text_trim((struct text){list->at + 1, list->size - 1});
  }
  if (!take_tag(list, tag)) return false;
  *list = text_trim(*list);
  return list->size == 0 || list->at[0] == ',';
}

enum comparison { STRONG, WEAK };

static bool tag_matches(const struct tag *tag, const char *etag, enum comparison how) {
  bool is_weak = etag[0] == 'W';
  const char *opaque = is_weak ? etag + 2 : etag;
  if (how == STRONG && (is_weak || tag->is_weak)) return false;
  return tag->opaque.size == strlen(opaque) &&
         memcmp(tag->opaque.at, opaque, tag->opaque.size) == 0;
}

/* All lines of the field are one list. "*" stands for any resource, and there is one. */
static bool list_matches(const struct request *r, enum field field, const char *etag,
                         enum comparison how) {
  struct text rest = r->fields, list;
  while (request_next(&rest, field, &list)) {
    if (list.size == 1 && list.at[0] == '*') return true;
    for (struct tag tag; next_tag(&list, &tag);) {
      if (tag_matches(&tag, etag, how)) return true;
    }
  }
  return false;
}

/* ---- dates ---- */

/* Whether a field has one date, and which. */
static bool field_date(const struct request *r, enum field field, int64_t now, int64_t *seconds) {
  struct text value;
  return request_field(r, field, &value) && date_read(value, now, seconds);
}

int conditions_check(const struct request *r, const struct resource *resource, int64_t now) {
  int64_t date;
  bool is_dated = resource->modified != NO_DATE;
  if (r->lines[FIELD_IF_MATCH] > 0) {
    if (!list_matches(r, FIELD_IF_MATCH, resource->etag, STRONG)) return 412;
  } else if (is_dated && field_date(r, FIELD_IF_UNMODIFIED_SINCE, now, &date)) {
    if (resource->modified > date) return 412;
  }
  if (r->lines[FIELD_IF_NONE_MATCH] > 0) {
    return list_matches(r, FIELD_IF_NONE_MATCH, resource->etag, WEAK) ? 304 : 200;
  }
  if (is_dated && field_date(r, FIELD_IF_MODIFIED_SINCE, now, &date)) {
    return resource->modified <= date ? 304 : 200;
  }
  return 200;
}

/* ---- ranges ---- */

/* Whether If-Range, if it is there, lets a part be sent: only if both validators are strong. A date
 * is one if a second has passed since: no other version has the same date. */
static bool range_applies(const struct request *r, const struct resource *resource, int64_t now) {
  struct text value;
  struct tag tag;
  int64_t date;
  if (r->lines[FIELD_IF_RANGE] == 0) return true;
  if (!request_field(r, FIELD_IF_RANGE, &value)) return false;
  if (date_read(value, now, &date)) return date == resource->modified && date < now - 1;
  return take_tag(&value, &tag) && value.size == 0 && tag_matches(&tag, resource->etag, STRONG);
}

/* first "-" [last], or "-" suffix. Returns whether it is one; then it is [*first, *last], or, if it
 * has no byte of the resource, *first is its size. */
static bool read_range(struct text spec, uint64_t size, uint64_t *first, uint64_t *last) {
  const char *dash = memchr(spec.at, '-', spec.size);
  if (dash == NULL) return false;
  struct text from = {spec.at, (size_t)(dash - spec.at)};
  struct text to = {dash + 1, spec.size - from.size - 1};
  uint64_t suffix;
  *last = size > 0 ? size - 1 : 0;
  if (from.size == 0) {
    if (!text_number(to, &suffix)) return false;
    *first = suffix < size ? size - suffix : 0;
    return suffix == 0 || size > 0; /* nothing has no part that could be sent */
  }
  if (!text_number(from, first)) return false;
  if (to.size > 0) {
    uint64_t end;
    if (!text_number(to, &end) || end < *first) return false;
    if (end < *last) *last = end;
  }
  if (*first > size) *first = size;
  return true;
}

int conditions_range(const struct request *r, const struct resource *resource, int64_t now,
                     uint64_t *first, uint64_t *count) {
  struct text value, spec, more;
  uint64_t last;
  *first = 0;
  *count = resource->size;
  if (r->method != METHOD_GET || !request_field(r, FIELD_RANGE, &value)) return 200;
  const char *equals = memchr(value.at, '=', value.size);
  if (equals == NULL) return 200;
  struct text unit = {value.at, (size_t)(equals - value.at)};
  struct text set = {equals + 1, value.size - unit.size - 1};
  if (!text_is(unit, TEXT("bytes")) || !text_next(&set, &spec) || text_next(&set, &more))
    return 200;
  uint64_t from;
  if (!read_range(spec, resource->size, &from, &last)) return 200;
  if (!range_applies(r, resource, now)) return 200;
  if (from == resource->size) return 416;
  *first = from;
  *count = last - from + 1;
  return 206;
}
