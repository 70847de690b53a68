/* report.h: the line of the access log. */
#ifndef VOLTGATE_SESSION_REPORT_H
#define VOLTGATE_SESSION_REPORT_H

struct session;

/* Say how a session has ended, if anybody wants to know. */
void report_end(const struct session *s);

#endif
