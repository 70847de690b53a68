#!/usr/bin/env python3
"""The script of docs/from-0.1.md: it renames a program that was written before, which then compiles."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

BEFORE = """
#include <volt/fiber.h>
#include <volt/time.h>
#include <volt/volt.h>
VOLT_CHAN_DECLARE(jobs, int);

int use(volt_sem *s, volt_mutex *m, volt_rwlock *rw, jobs *j, volt_sleep *nap, volt_timers *timers) {
  volt_waiter w = VOLT_WAITER_INIT;
  volt_waker nobody = {0};
  volt_future f;
  volt_mutex_lock_no_deadline(m);
  int r = volt_mutex_lock_blocking(m, VOLT_NO_DEADLINE);
  r += volt_mutex_lock(m, &w, nobody);
  r += volt_sem_acquire_blocking(s, (uint32_t)(1 + 1), VOLT_NO_DEADLINE);
  r += volt_sem_acquire_blocking(s, 1, volt_deadline_ms(1));
  r += volt_rwlock_read_blocking(rw, volt_deadline_ms(jobs_send_blocking(j, 1, VOLT_NO_DEADLINE)));
  r += volt_await(volt_sem_acquire_future(&f, s, 1));
  r += volt_block_on(volt_mutex_lock_future(&f, m), VOLT_NO_DEADLINE);
  r += volt_block_on(volt_sleep_until(nap, timers, 5), volt_deadline_ms(5));
  r += volt_sleep_blocking(5);
  return r + (int)volt_sem_debt(s);
}
"""
AFTER = """
#include <volt/fiber.h>
#include <volt/time.h>
#include <volt/volt.h>
VOLT_CHAN_DECLARE(jobs, int);

int use(volt_sem *s, volt_mutex *m, volt_rwlock *rw, jobs *j, volt_sleep_op *nap, volt_timers *timers) {
  volt_waiter w = VOLT_WAITER_INIT;
  volt_waker nobody = {0};
  volt_future f;
  volt_mutex_lock(m);
  int r = volt_mutex_lock_until(m, VOLT_NO_DEADLINE);
  r += volt_mutex_lock_waiter(m, &w, nobody);
  r += volt_sem_acquire(s, (uint32_t)(1 + 1));
  r += volt_sem_acquire_until(s, 1, volt_deadline_ms(1));
  r += volt_rwlock_read_until(rw, volt_deadline_ms(jobs_send(j, 1)));
  r += volt_future_wait(volt_sem_acquire_future(&f, s, 1));
  r += volt_future_wait(volt_mutex_lock_future(&f, m));
  r += volt_future_wait_until(volt_sleep_future(nap, timers, 5), volt_deadline_ms(5));
  r += volt_sleep_until(5);
  return r + (int)volt_sem_excess(s);
}
"""


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def main():
    page = (ROOT / "docs/from-0.1.md").read_text()
    script, = re.findall(r"```python\n(.*?)```", page, re.S)
    with tempfile.TemporaryDirectory() as where:
        path = pathlib.Path(where)
        (path / "rename.py").write_text(script)
        (path / "use.c").write_text(BEFORE)
        said = run([sys.executable, path / "rename.py", path / "use.c"])
        assert "renamed" in said, said
        assert (path / "use.c").read_text() == AFTER, (path / "use.c").read_text()
        said = run([sys.executable, path / "rename.py", path / "use.c"])
        assert "left alone" in said, said  # what is renamed once is not renamed again
        assert (path / "use.c").read_text() == AFTER
        plain = "void f(volt_mutex *m) {\n  volt_mutex_lock_no_deadline(m);\n}\n"
        (path / "plain.c").write_text(plain)
        for _ in range(2):  # the new name alone was one of before, with another meaning
            run([sys.executable, path / "rename.py", path / "plain.c"])
            assert (path / "plain.c").read_text() == plain.replace("_no_deadline", "")
        compiler = shutil.which("cc")
        if compiler:
            run([compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include",
                 "-fsyntax-only", path / "use.c"])
    print("ok: a source of before is renamed, once, and compiles")


main()
