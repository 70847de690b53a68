/* names.c: names of nodes, their order, the data of a semaphore's node. */
#include "names.h"

#include "../../core/os/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <volt/semaphore.h>

static const char names_magic[] = "volt-cluster";

/* ---- guid ---- */

bool cluster_guid_is_(const cluster_guid *a, const cluster_guid *b) {
  return a->high == b->high && a->low == b->low;
}

cluster_guid cluster_guid_make_(uint64_t session, const char *name, uint64_t count) {
  uint64_t mix = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
  for (const char *p = name; *p; p++) mix = (mix ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
  mix ^= count * VOLT_GOLDEN_;
  return (cluster_guid){.high = session, .low = mix};
}

void cluster_guid_write_(char *to, const cluster_guid *guid) {
  snprintf(to, 33, "%016" PRIx64 "%016" PRIx64, guid->high, guid->low);
}

static bool names_read_hex(uint64_t *value, const char *text) {
  *value = 0;
  for (int i = 0; i < 16; i++) {
    char c = text[i];
    bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !(c >= 'a' && c <= 'f')) return false;
    *value = *value << 4 | (uint64_t)(is_digit ? c - '0' : c - 'a' + 10);
  }
  return true;
}

/* ---- numbers ---- */

/* Read digits up to a byte that is none. No zeros in front, no sign. Returns the end, or NULL. */
static const char *names_read_number(uint64_t *value, const char *text, uint64_t max) {
  if (*text < '0' || *text > '9' || (*text == '0' && text[1] >= '0' && text[1] <= '9')) return NULL;
  *value = 0;
  for (; *text >= '0' && *text <= '9'; text++) {
    *value = *value * 10 + (uint64_t)(*text - '0');
    if (*value > max) return NULL;
  }
  return text;
}

static const char *names_read_count(uint32_t *count, const char *text) {
  uint64_t value = 0;
  const char *end = names_read_number(&value, text, UINT32_MAX);
  *count = (uint32_t)value;
  return end && *end == '.' ? end + 1 : NULL;
}

static bool names_read_sequence(int32_t *sequence, const char *text) {
  bool is_negative = *text == '-';
  if (is_negative) text += 1;
  size_t digits = strlen(text);
  if (digits < (is_negative ? 9u : 10u) || digits > 10) return false;
  int64_t value = 0;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    value = value * 10 + (*text - '0');
  }
  if (is_negative) value = -value;
  *sequence = (int32_t)value;
  return value >= INT32_MIN && value <= INT32_MAX;
}

bool cluster_slot_read_(uint32_t *slot, const char *name) {
  uint64_t value = 0;
  const char *end = names_read_number(&value, name, UINT32_MAX - 1);
  *slot = (uint32_t)value;
  return end && *end == '\0';
}

/* ---- entries ---- */

void cluster_entry_ask_(char *to, const cluster_entry *e, enum cluster_list place) {
  cluster_guid_write_(to, &e->guid);
  if (place == CLUSTER_QUEUE) {
    snprintf(to + 32, CLUSTER_ENTRY_SIZE - 32, ".%" PRIu32 ".%" PRIu32 ".", e->has, e->want);
  } else {
    snprintf(to + 32, CLUSTER_ENTRY_SIZE - 32, ".%" PRIu32 ".", e->has);
  }
}

void cluster_entry_write_(char *to, const cluster_entry *e, enum cluster_list place) {
  cluster_entry_ask_(to, e, place);
  size_t length = strlen(to);
  snprintf(to + length, CLUSTER_ENTRY_SIZE - length, "%010" PRId32, e->sequence);
}

bool cluster_entry_read_(cluster_entry *e, const char *name, enum cluster_list place) {
  *e = (cluster_entry){.want = 0};
  if (strlen(name) < 33 || name[32] != '.') return false;
  if (!names_read_hex(&e->guid.high, name) || !names_read_hex(&e->guid.low, name + 16))
    return false;
  const char *rest = names_read_count(&e->has, name + 33);
  if (rest && place == CLUSTER_QUEUE) rest = names_read_count(&e->want, rest);
  return rest && names_read_sequence(&e->sequence, rest);
}

int cluster_sequence_compare_(int32_t a, int32_t b) {
  uint32_t ahead = (uint32_t)b - (uint32_t)a;
  if (ahead == 0) return 0;
  if (ahead == UINT32_C(0x80000000)) return a < b ? -1 : 1;
  return ahead < UINT32_C(0x80000000) ? -1 : 1;
}

int cluster_entry_by_guid_(const void *a, const void *b) {
  const cluster_guid *x = &((const cluster_entry *)a)->guid;
  const cluster_guid *y = &((const cluster_entry *)b)->guid;
  if (x->high != y->high) return x->high < y->high ? -1 : 1;
  return x->low < y->low ? -1 : x->low > y->low;
}

int cluster_entry_by_age_(const void *a, const void *b) {
  const cluster_entry *x = (const cluster_entry *)a;
  const cluster_entry *y = (const cluster_entry *)b;
  if (x->generation != y->generation) return x->generation < y->generation ? -1 : 1;
  int order = cluster_sequence_compare_(x->sequence, y->sequence);
  return order != 0 ? order : cluster_entry_by_guid_(a, b);
}

/* ---- data ---- */

static const struct names_key {
  const char *name;
  size_t at;
  uint32_t max;
} names_keys[] = {
    {"limit", offsetof(cluster_data, limit), VOLT_SEM_MAX},
    {"lease", offsetof(cluster_data, lease), UINT32_MAX},
    {"quantum_ms", offsetof(cluster_data, quantum_ms), UINT32_MAX},
    {"era", offsetof(cluster_data, era), UINT32_MAX},
    {"queue", offsetof(cluster_data, queue), UINT32_MAX},
    {"turn", offsetof(cluster_data, turn), INT32_MAX},
};
enum { NAMES_KEYS = sizeof names_keys / sizeof *names_keys };

static uint32_t *names_value(cluster_data *d, int key) {
  return (uint32_t *)(void *)((char *)d + names_keys[key].at);
}

/* The key of this name; -1: another. */
static int names_key_of(const char *name) {
  for (int i = 0; i < NAMES_KEYS; i++) {
    if (strcmp(names_keys[i].name, name) == 0) return i;
  }
  return -1;
}

/* Take the next word out of *text. Returns NULL at the end. */
static char *names_next_word(char **text) {
  static const char blanks[] = " \t\r\n";
  char *word = *text + strspn(*text, blanks);
  if (*word == '\0') return NULL;
  size_t length = strcspn(word, blanks);
  *text = word + length + (word[length] != '\0');
  word[length] = '\0';
  return word;
}

/* A copy of a node's data as a string. Returns false if it is too long, or no text. */
static bool names_copy(char *to, const char *text, size_t size) {
  if (size >= CLUSTER_DATA_SIZE || (size > 0 && memchr(text, '\0', size))) return false;
  if (size > 0) memcpy(to, text, size);
  to[size] = '\0';
  return true;
}

/* Take the first two words. Returns whether they are ours. */
static bool names_take_magic(char **text) {
  char *name = names_next_word(text);
  char *version = name ? names_next_word(text) : NULL;
  return version && strcmp(name, names_magic) == 0 && strcmp(version, "1") == 0;
}

bool cluster_data_read_(cluster_data *d, const char *text, size_t size) {
  char copy[CLUSTER_DATA_SIZE];
  char *rest = copy;
  bool has_limit = false;
  *d = (cluster_data){.era = 1};
  if (!names_copy(copy, text, size) || !names_take_magic(&rest)) return false;
  for (char *name; (name = names_next_word(&rest)) != NULL;) {
    char *value = names_next_word(&rest);
    if (!value) return false;
    int key = names_key_of(name);
    if (key < 0) continue;
    uint64_t number = 0;
    const char *end = names_read_number(&number, value, names_keys[key].max);
    if (!end || *end != '\0') return false;
    *names_value(d, key) = (uint32_t)number;
    has_limit = has_limit || key == 0;
  }
  return has_limit;
}

/* Add a text. Returns the new length, or CLUSTER_DATA_SIZE if it does not fit. */
static size_t names_append(char *to, size_t at, const char *text) {
  size_t length = strlen(text);
  if (at + length >= CLUSTER_DATA_SIZE) return CLUSTER_DATA_SIZE;
  memcpy(to + at, text, length + 1);
  return at + length;
}

static size_t names_append_line(char *to, size_t at, const char *name, const char *value) {
  at = names_append(to, at, name);
  at = names_append(to, at, " ");
  at = names_append(to, at, value);
  return names_append(to, at, "\n");
}

size_t cluster_data_write_(char *to, const cluster_data *d, const char *text, size_t size) {
  char copy[CLUSTER_DATA_SIZE];
  char *rest = copy;
  cluster_data of = *d;
  if (!names_copy(copy, text, text ? size : 0)) return 0;
  size_t length = names_append_line(to, 0, names_magic, "1");
  for (int i = 0; i < NAMES_KEYS; i++) {
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, *names_value(&of, i));
    length = names_append_line(to, length, names_keys[i].name, number);
  }
  (void)names_take_magic(&rest);
  for (char *name; (name = names_next_word(&rest)) != NULL;) {
    char *value = names_next_word(&rest);
    if (value && names_key_of(name) < 0) length = names_append_line(to, length, name, value);
  }
  return length < CLUSTER_DATA_SIZE ? length : 0;
}
