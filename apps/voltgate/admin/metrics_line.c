/* metrics_line.c: lines of Prometheus' text format. */
#include "admin/metrics_line.h"

#include <string.h>

#include "common/json_text.h"

void metrics_put_family(struct output *to, const char *name, const char *type, const char *help) {
  OUTPUT(to, "# HELP ");
  output_string(to, name);
  OUTPUT(to, " ");
  output_string(to, help);
  OUTPUT(to, "\n# TYPE ");
  output_string(to, name);
  OUTPUT(to, " ");
  output_string(to, type);
  OUTPUT(to, "\n");
}

/* What is no UTF-8, or would be obeyed by the terminal that shows it (C0, DEL, C1): each byte as
 * \xHH, so that names that differ stay different series. */
static void metrics_put_bytes_of_label(struct output *to, const char *at, size_t size) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)at[i];
    char shown[5] = {'\\', '\\', 'x', digits[byte >> 4], digits[byte & 15]};
    output_bytes(to, shown, sizeof shown);
  }
}

void metrics_put_label(struct output *to, const char *value) {
  for (size_t left = strlen(value); left > 0;) {
    size_t bytes = volt_json_utf8_(value, left);
    if (bytes == 0 || (volt_json_is_control_(value, bytes) && *value != '\n')) {
      bytes = bytes > 0 ? bytes : 1;
      metrics_put_bytes_of_label(to, value, bytes);
    } else if (*value == '\n') {
      OUTPUT(to, "\\n");
    } else {
      if (*value == '"' || *value == '\\') OUTPUT(to, "\\");
      output_bytes(to, value, bytes);
    }
    value += bytes;
    left -= bytes;
  }
}

void metrics_put_series(struct output *to, const char *name, const char *suffix,
                        const struct series *s) {
  output_string(to, name);
  output_string(to, suffix);
  OUTPUT(to, "{gate=\"");
  metrics_put_label(to, s->gate);
  OUTPUT(to, "\"");
  if (s->tenant == NULL) return;
  OUTPUT(to, ",tenant=\"");
  metrics_put_label(to, s->tenant);
  OUTPUT(to, "\"");
}

void metrics_put_value(struct output *to, uint64_t value) {
  OUTPUT(to, "} ");
  output_number(to, value);
  OUTPUT(to, "\n");
}

void metrics_put_own(struct output *to, const char *name, const char *type, const char *help,
                     uint64_t value) {
  if (value == UINT64_MAX) return; /* not known */
  metrics_put_family(to, name, type, help);
  output_string(to, name);
  OUTPUT(to, " ");
  output_number(to, value);
  OUTPUT(to, "\n");
}

void metrics_put_own_seconds(struct output *to, const char *name, const char *type,
                             const char *help, uint64_t ns) {
  if (ns == UINT64_MAX) return;
  metrics_put_family(to, name, type, help);
  output_string(to, name);
  OUTPUT(to, " ");
  output_seconds(to, ns);
  OUTPUT(to, "\n");
}
