/* term.h: the terminal of a program that shows a screen: its size, the keys that are typed, signals.
 *
 * It shows another screen from term_begin() to term_end(), and is as before in the end, also if a
 * signal ends the program, or stops it for a while. A signal is only noted: it ends
 * term_wait(), and the program acts on it when it next looks (term_ending, term_has_changed()). There
 * is one terminal in a process, and one thread has it. */
#ifndef COMMON_TERM_H
#define COMMON_TERM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns false: standard input and output are no terminal; then nothing has changed. */
bool term_begin(void);
void term_end(void);

/* The signal that ends the program, or 0: SIGHUP also if the terminal is gone. */
extern volatile sig_atomic_t term_ending;

void term_write(const char *text, size_t size);
void term_clear(void);

/* Its size; 80 and 24 if it is not known. */
void term_size(unsigned *width, unsigned *height);

/* Whether all has to be drawn anew: the size has changed, or the program had been stopped. It is
 * stopped here, with the terminal as it was before, if that was asked for. */
bool term_has_changed(void);

enum term_event { TERM_TIME, TERM_KEYS, TERM_SIGNAL, TERM_CLOSED };

/* Wait for keys, for a signal, or so long. TERM_CLOSED: no key will come any more. */
enum term_event term_wait(uint64_t timeout_ns);

/* The next of the keys that were typed; 0: one without a meaning; -1: there is none left. Arrows are
 * 'k' and 'j', pages 'b' and ' ', Home and End 'g' and 'G'. */
int term_key(void);

#endif
