/* report.h: the line of the access log. */
#ifndef VOLTGATE_SESSION_REPORT_H
#define VOLTGATE_SESSION_REPORT_H

struct session;

/* Write how a session has ended, if there is an access log. */
void report_end(const struct session *s);

#endif
