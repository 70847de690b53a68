/* report.c: the line of the access log. */
#include "session/report.h"

#include "process/log.h"
#include "session/session.h"

static const char *report_ending(const struct session *s) {
  switch ((enum session_ending)s->ending) {
    case SESSION_BY_CLIENT: return "client";
    case SESSION_BY_SERVER: return "server";
    case SESSION_LEFT: return "left";
    case SESSION_REFUSED: return "refused";
    case SESSION_DRAINED: return "drain";
    case SESSION_GOES_ON:
    case SESSION_FAILED: break;
  }
  return "error";
}

static const char *report_detail(const struct session *s) {
  if (s->ending == SESSION_REFUSED) return reason_name((enum gate_reason)s->reason);
  return s->ending == SESSION_FAILED ? volt_strerror(s->error) : NULL;
}

void report_end(const struct session *s) {
  if (!log_wants_access()) return;
  char client[VOLT_ADDRESS_TEXT];
  const struct access line = {.gate = s->gate->name,
                              .client = client_address_text(&s->entry, client),
                              .tenant = s->entry.tenant ? s->entry.tenant->name : NULL,
                              .user = s->user,
                              .database = s->database,
                              .wait_ns = s->wait_ns,
                              .hold_ns = s->hold_ns,
                              .age_ns = session_now_ns(s) - s->entry.accepted_ns,
                              .permits = s->permits,
                              .up = s->up,
                              .down = s->down,
                              .end = report_ending(s),
                              .detail = report_detail(s)};
  log_access(&line);
}
