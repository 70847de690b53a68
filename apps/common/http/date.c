/* date.c: the dates of HTTP. Days are counted by the civil calendar, as Howard Hinnant's
 * "chrono-compatible low-level date algorithms" do. */
#include "common/http/date.h"

#define DAY 86400

static const char week[7][10] = {"Thursday", "Friday",  "Saturday", "Sunday",
                                 "Monday",   "Tuesday", "Wednesday"}; /* from 1 January 1970 on */
static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct civil {
  int64_t year;
  int month, day, hour, minute, second; /* month and day from 1 */
  int weekday;                          /* of week */
};

/* ---- days ---- */

static bool is_leap(int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_of(int64_t year, int month) {
  static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days since 1970-01-01. */
static int64_t day_of(const struct civil *c) {
  int64_t year = c->year - (c->month <= 2);
  int64_t era = (year >= 0 ? year : year - 399) / 400;
  int64_t year_of_era = year - era * 400;
  int64_t day_of_year = (153 * (c->month + (c->month > 2 ? -3 : 9)) + 2) / 5 + c->day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

static struct civil civil_of(int64_t seconds) {
  int64_t days = (seconds >= 0 ? seconds : seconds - (DAY - 1)) / DAY;
  int64_t rest = seconds - days * DAY;
  int64_t shifted = days + 719468;
  int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  int64_t day_of_era = shifted - era * 146097;
  int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int month = (int)((5 * day_of_year + 2) / 153); /* from March on */
  struct civil c = {.year = year_of_era + era * 400 + (month >= 10),
                    .month = month + (month < 10 ? 3 : -9),
                    .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
                    .hour = (int)(rest / 3600),
                    .minute = (int)(rest / 60 % 60),
                    .second = (int)(rest % 60),
                    .weekday = (int)((days % 7 + 7) % 7)};
  return c;
}

/* ---- write ---- */

static void put_digits(char *to, int64_t number, int digits) {
  for (int i = digits - 1; i >= 0; i--, number /= 10) to[i] = (char)('0' + number % 10);
}

void date_write(char to[DATE_SIZE], int64_t seconds) {
  struct civil c = civil_of(seconds);
  memcpy(to, "xxx, 00 xxx 0000 00:00:00 GMT", DATE_SIZE);
  memcpy(to, week[c.weekday], 3);
  put_digits(to + 5, c.day, 2);
  memcpy(to + 8, months[c.month - 1], 3);
  put_digits(to + 12, c.year, 4);
  put_digits(to + 17, c.hour, 2);
  put_digits(to + 20, c.minute, 2);
  put_digits(to + 23, c.second, 2);
}

/* ---- read ---- */

/* Reads the text by a pattern: D a digit of the day, Y of the year, h, m and s of the time, b a
 * letter of the month, _ the first digit of a day or a space; any other byte is itself. */
static bool match(struct text text, const char *pattern, struct civil *c) {
  char month[4] = "";
  size_t letters = 0;
  if (text.size != strlen(pattern)) return false;
  for (size_t i = 0; i < text.size; i++) {
    char byte = text.at[i];
    int digit = byte >= '0' && byte <= '9' ? byte - '0' : -1;
    if (pattern[i] == '_' && byte == ' ') digit = 0;
    if (strchr("DYhms_", pattern[i]) != NULL && digit < 0) return false;
    switch (pattern[i]) {
      case '_':
      case 'D': c->day = c->day * 10 + digit; break;
      case 'Y': c->year = c->year * 10 + digit; break;
      case 'h': c->hour = c->hour * 10 + digit; break;
      case 'm': c->minute = c->minute * 10 + digit; break;
      case 's': c->second = c->second * 10 + digit; break;
      case 'b': month[letters++] = byte; break;
      default:
        if (byte != pattern[i]) return false;
    }
  }
  for (c->month = 1; c->month <= 12; c->month++) {
    if (memcmp(month, months[c->month - 1], 3) == 0) return true;
  }
  return false;
}

/* Takes the name of a day off the front: of so many letters, or, 0, all of them. */
static bool match_weekday(struct text *text, size_t letters, struct civil *c) {
  for (c->weekday = 0; c->weekday < 7; c->weekday++) {
    const char *name = week[c->weekday];
    size_t size = letters > 0 ? letters : strlen(name);
    if (text->size > size && memcmp(text->at, name, size) == 0) {
      text->at += size;
      text->size -= size;
      return true;
    }
  }
  return false;
}

/* The year of two digits that is not more than 50 years ahead. */
static int64_t year_near(int64_t year, int64_t now) {
  int64_t this_year = civil_of(now).year;
  int64_t full = this_year - this_year % 100 + year;
  return full > this_year + 50 ? full - 100 : full;
}

static bool is_possible(const struct civil *c) {
  return c->day >= 1 && c->day <= days_of(c->year, c->month) && c->hour < 24 && c->minute < 60 &&
         c->second <= 60; /* a leap second */
}

bool date_read(struct text text, int64_t now, int64_t *seconds) {
  struct text whole = text;
  struct civil c = {0};
  bool found = match_weekday(&text, 3, &c) && (match(text, ", DD bbb YYYY hh:mm:ss GMT", &c) ||
                                               (c = (struct civil){.weekday = c.weekday},
                                                match(text, " bbb _D hh:mm:ss YYYY", &c)));
  if (!found) {
    c = (struct civil){0};
    if (!match_weekday(&whole, 0, &c) || !match(whole, ", DD-bbb-YY hh:mm:ss GMT", &c))
      return false;
    c.year = year_near(c.year, now);
  }
  if (!is_possible(&c)) return false;
  int64_t day = day_of(&c);
  if ((day % 7 + 7) % 7 != c.weekday) return false;
  *seconds = day * DAY + c.hour * 3600 + c.minute * 60 + c.second;
  return true;
}
