/* json_write.c: lines of JSON, written. */
#include "json.h"

#include <string.h>

static void json_write(volt_json_ *j, const char *bytes, size_t size) {
  if (j->is_full || size > j->max - j->size) {
    j->is_full = true;
    return;
  }
  memcpy(j->at + j->size, bytes, size);
  j->size += size;
}

static void json_write_key(volt_json_ *j, const char *key) {
  json_write(j, ",\"", 2);
  json_write(j, key, strlen(key));
  json_write(j, "\":", 2);
}

void volt_json_begin_(volt_json_ *j, const char *what) {
  _Static_assert(VOLT_JSON_VERSION_ == 1, "as it is written here");
  j->line = j->size;
  j->is_full = false;
  json_write(j, "{\"volt\":1", 9);
  volt_json_put_text_(j, "a", what);
}

bool volt_json_end_(volt_json_ *j) {
  json_write(j, "}\n", 2);
  if (j->is_full) j->size = j->line;
  return !j->is_full;
}

void volt_json_put_bytes_(volt_json_ *j, const char *key, const char *text, size_t size) {
  json_write_key(j, key);
  json_write(j, "\"", 1);
  for (size_t done = 0; done < size;) {
    char escaped[7];
    size_t bytes = volt_json_escape_(text + done, size - done, "", escaped);
    if (done + bytes > VOLT_JSON_TEXT_) break;
    json_write(j, *escaped ? escaped : text + done, *escaped ? strlen(escaped) : bytes);
    done += bytes;
  }
  json_write(j, "\"", 1);
}

/* Of a text, as far as it counts: the character that is cut is whole. */
static size_t json_length(const char *text) {
  size_t size = 0;
  while (size < VOLT_JSON_TEXT_ + 4 && text[size]) size++;
  return size;
}

void volt_json_put_text_(volt_json_ *j, const char *key, const char *text) {
  if (text) volt_json_put_bytes_(j, key, text, json_length(text));
}

/* Writes it to the end of digits. Returns where it begins. */
static const char *json_digits(char digits[20], uint64_t number, unsigned base) {
  char *at = digits + 20;
  do {
    *--at = "0123456789abcdef"[number % base];
    number /= base;
  } while (number > 0);
  return at;
}

void volt_json_put_number_(volt_json_ *j, const char *key, uint64_t number) {
  char digits[20];
  const char *at = json_digits(digits, number, 10);
  json_write_key(j, key);
  json_write(j, at, (size_t)(digits + sizeof digits - at));
}

void volt_json_put_condition_(volt_json_ *j, const char *key, bool condition) {
  json_write_key(j, key);
  json_write(j, condition ? "true" : "false", condition ? 4 : 5);
}

void volt_json_put_address_(volt_json_ *j, const char *key, const void *address) {
  if (!address) return;
  char digits[20];
  const char *at = json_digits(digits, (uintptr_t)address, 16);
  json_write_key(j, key);
  json_write(j, "\"0x", 3);
  json_write(j, at, (size_t)(digits + sizeof digits - at));
  json_write(j, "\"", 1);
}
