/* html.h: pieces of the page: text of the program's is escaped, and each figure carries its exact value. */
#ifndef VOLT_RUN_HTML_H
#define VOLT_RUN_HTML_H

#include "report.h"
#include "report_graph.h"

/* As text or in quotes: what has a meaning in HTML is escaped, and what is no character becomes U+FFFD. The page stays
 * well-formed XML, whatever the bytes are. */
void html_text(const char *text, FILE *to);

/* A figure: shown as text, with its name and value for programs. */
void html_number(const char *name, uint64_t value, FILE *to);
void html_time(const char *name, uint64_t ns, FILE *to);

void html_place(const struct report *r, uintptr_t at, FILE *to);
void html_stack(const struct report *r, const uintptr_t *stack, uint32_t depth, uintptr_t at,
                FILE *to);
void html_thread(int32_t tid, const char *name, FILE *to);

/* "mutex 0x1234, made or first used at f (a.c:12)". 0: the end of a thread. */
void html_lock(const struct report *r, uint32_t lock, FILE *to);

/* What stands before the report: style, and the beginning of the body. */
void html_head(const char *title, FILE *to);

/* ---- drawings ---- */

/* How often a time was as long: a bar for each part of a histogram. name: of what, for programs. */
void html_histogram(const char *name, const _Atomic uint32_t *times, FILE *to);
void html_over_time(const struct report *r, FILE *to);
void html_graph(const struct report *r, const struct graph *g, FILE *to);

#endif
