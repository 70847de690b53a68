/* term.c: term.h. A handler of signals writes a byte into a pipe, which ends poll(). */
#define _GNU_SOURCE /* pipe2 */
#include "common/term.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

volatile sig_atomic_t term_ending;
static volatile sig_atomic_t term_stops, term_changed;
static int term_pipe[2] = {-1, -1};
static struct termios term_before;
static char term_typed[64];
static const char *term_at, *term_typed_end; /* of the keys that are left */

/* ---- signals ---- */

static void note_signal(int number) {
  int saved = errno;
  if (number == SIGTSTP) {
    term_stops = 1;
  } else if (number == SIGWINCH || number == SIGCONT) {
    term_changed = 1;
  } else {
    term_ending = number;
  }
  (void)!write(term_pipe[1], "", 1);
  errno = saved;
}

static void catch_signals(void) {
  static const int signals[] = {SIGWINCH, SIGCONT, SIGTSTP, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  struct sigaction action = {.sa_handler = note_signal};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    sigaction(signals[i], &action, NULL);
  }
}

/* ---- the screen ---- */

void term_write(const char *text, size_t size) {
  while (size > 0) {
    ssize_t n = write(STDOUT_FILENO, text, size);
    if (n < 0 && errno != EINTR) {
      term_ending = SIGHUP; /* the terminal is gone */
      return;
    }
    if (n > 0) text += n, size -= (size_t)n;
  }
}

static void write_text(const char *text) {
  term_write(text, strlen(text));
}

void term_clear(void) {
  write_text("\x1b[2J");
}

static void enter(void) {
  struct termios raw = term_before;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  write_text("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J");
}

void term_end(void) {
  write_text("\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l");
  tcsetattr(STDIN_FILENO, TCSADRAIN, &term_before);
}

bool term_begin(void) {
  if (tcgetattr(STDIN_FILENO, &term_before) != 0 || !isatty(STDOUT_FILENO)) return false;
  if (pipe2(term_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  catch_signals();
  enter();
  return true;
}

void term_size(unsigned *width, unsigned *height) {
  struct winsize size;
  bool is_known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  *width = is_known ? size.ws_col : 80;
  *height = is_known ? size.ws_row : 24;
}

bool term_has_changed(void) {
  if (term_stops) {
    term_stops = 0;
    term_end();
    raise(SIGSTOP); /* until this process goes on */
    term_changed = 1;
  }
  if (!term_changed) return false;
  term_changed = 0;
  enter(); /* as it is again after a SIGSTOP */
  return true;
}

/* ---- keys ---- */

enum term_event term_wait(uint64_t timeout_ns) {
  char bytes[64];
  struct pollfd asked[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = term_pipe[0], .events = POLLIN}};
  uint64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
  int ready = poll(asked, 2, ms < INT32_MAX ? (int)ms : INT32_MAX);
  while (read(term_pipe[0], bytes, sizeof bytes) > 0) continue;
  if (ready == 0) return TERM_TIME;
  if (ready < 0 || asked[0].revents == 0) return TERM_SIGNAL;
  ssize_t n = read(STDIN_FILENO, term_typed, sizeof term_typed);
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return TERM_CLOSED;
  term_at = term_typed;
  term_typed_end = term_typed + (n > 0 ? n : 0);
  return TERM_KEYS;
}

/* An arrow is ESC [ A, or ESC O A. */
int term_key(void) {
  if (term_at == term_typed_end) return -1;
  char key = *term_at++;
  bool is_sequence = key == 27 && term_at < term_typed_end && (*term_at == '[' || *term_at == 'O');
  if (!is_sequence) return (unsigned char)key;
  term_at++;
  char last = term_at < term_typed_end ? *term_at++ : 0;
  if (last >= '0' && last <= '9' && term_at < term_typed_end) term_at++; /* ESC [ 5 ~ */
  switch (last) {
    case 'A': return 'k';
    case 'B': return 'j';
    case '5': return 'b';
    case '6': return ' ';
    case 'H': return 'g';
    case 'F': return 'G';
    default: return 0;
  }
}
