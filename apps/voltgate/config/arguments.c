/* arguments.c: the words of a command line: --name value, --name=value. */
#include <stdio.h>
#include <string.h>

#include "config/reading.h"

enum { NAME_MOST = 40 };

static enum argument_kind arguments_unknown(const char *name, unsigned owners,
                                            char why[OPTION_WHY]) {
  const char *nearest = options_nearest(name, owners);
  const char *format = nearest == NULL ? "--%.40s: there is no such option"
                                       : "--%.40s: there is no such option; is --%s meant?";
  snprintf(why, OPTION_WHY, format, name, nearest);
  return ARGUMENT_WRONG;
}

enum argument_kind arguments_next(struct arguments *a, unsigned owners, const struct option **o,
                                  const char **value, char why[OPTION_WHY]) {
  if (a->next >= a->argc) return ARGUMENT_END;
  const char *text = a->argv[a->next++];
  *value = text;
  if (text[0] != '-' || text[1] == '\0') return ARGUMENT_WORD;
  if (text[1] != '-') {
    snprintf(why, OPTION_WHY, "%.40s: options begin with --", text);
    return ARGUMENT_WRONG;
  }
  char name[NAME_MOST + 1];
  const char *equals = strchr(text, '=');
  size_t length = equals == NULL ? strlen(text + 2) : (size_t)(equals - text - 2);
  if (length > NAME_MOST) length = NAME_MOST;
  memcpy(name, text + 2, length);
  name[length] = '\0';
  *o = options_find(name, owners);
  bool has_next = a->next < a->argc && strncmp(a->argv[a->next], "--", 2) != 0;
  if (*o == NULL) {
    if (equals == NULL && has_next) a->next++; /* it is the value, most likely */
    return arguments_unknown(name, owners, why);
  }
  *value = equals != NULL ? equals + 1 : "";
  if ((*o)->argument == NULL) {
    if (equals == NULL) return ARGUMENT_OPTION;
    snprintf(why, OPTION_WHY, "--%s: it takes no value", name);
    return ARGUMENT_WRONG;
  }
  if (equals == NULL && !has_next) {
    char allowed[OPTION_WHY];
    snprintf(why, OPTION_WHY, "--%s: it needs a value: %.250s", name, option_allowed(*o, allowed));
    return ARGUMENT_WRONG;
  }
  if (equals == NULL) *value = a->argv[a->next++];
  return ARGUMENT_OPTION;
}
