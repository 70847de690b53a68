#!/usr/bin/env python3
"""volt-top on a terminal: keys, its size, signals, and that the terminal is as before in the end."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from kit import LIMIT, SCENE, TOP, Scene, run

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """volt-top on a terminal of its own, of which the screen is kept as a grid."""

    def __init__(self, scene, *arguments, rows=24, columns=120):
        self.ours, self.theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.theirs)
        self.bytes = b""
        self.process = subprocess.Popen([TOP, *arguments], stdin=self.theirs, stdout=self.theirs,
                                        env=scene.environment, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        if select.select([self.ours], [], [], seconds)[0]:
            self.bytes += os.read(self.ours, 65536)

    def screen(self):
        """The lines that are on the screen: volt-top draws each screen from its corner on."""
        begin = self.bytes.rfind(b"\x1b[H")
        drawn = self.bytes[begin + 3:] if begin >= 0 else b""
        lines = [b""] * self.rows
        row = 0
        for part in re.split(rb"(\r\n|\x1b\[\d*[A-Za-z])", drawn):
            if part == b"\r\n":
                row += 1
            elif re.fullmatch(rb"\x1b\[\d+H", part):
                row = int(part[2:-1]) - 1
                lines[row] = b""
            elif not part.startswith(b"\x1b"):
                assert row < self.rows or not part, (row, part)
                if part:
                    lines[row] += part
        assert all(len(line) <= self.columns for line in lines), lines
        return [line.decode() for line in lines]

    def wait_for(self, pattern, key=None):
        """Until a line of the screen has this; after a key."""
        if key:
            self.bytes = b""
            os.write(self.ours, key)
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            found = [line for line in self.screen() if re.search(pattern, line)]
            if found and re.search("quit", self.screen()[self.rows - 1]):
                return found
            self.read(0.2)
        raise SystemExit("never on the screen: " + pattern + "\n" + "\n".join(self.screen()))

    def end(self):
        """It has ended: the exit code. The terminal is as before."""
        end = time.monotonic() + LIMIT
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.1)
        while select.select([self.ours], [], [], 0.1)[0]:
            self.bytes += os.read(self.ours, 65536)
        assert self.process.poll() is not None, "it does not end"
        assert termios.tcgetattr(self.theirs) == self.before
        assert self.bytes.rfind(LEAVE) > self.bytes.rfind(ENTER)
        assert self.bytes.rfind(b"\x1b[?25h") > self.bytes.rfind(b"\x1b[?25l")  # the cursor is there
        return self.process.returncode


def keys_lead_from_table_to_table():
    with Scene() as scene, Terminal(scene) as t:
        t.wait_for("waits +get_poll .*volt_sem_acquire of 'pool'")
        assert t.bytes.startswith(ENTER)
        t.wait_for("^> pool +semaphore", b"o")
        t.wait_for("tasks that wait for 0x", b"\r")
        assert not [line for line in t.screen() if "get_in_time" in line]
        t.wait_for("^> pool", b"\x1b")
        t.wait_for("^> +scene-w0 ", b"w")
        t.wait_for("THREAD.*CALL", b"h")
        t.wait_for("^> .*get_poll", b"\t")
        t.wait_for("^> .*get_in_time_poll", b"G")
        t.wait_for("volt_timeout, ", b"\r")
        t.wait_for("volt_mutex_lock of mutex")
        t.wait_for("^no deadlock$|known in builds with VOLT_SIGHT=1", b"d")
        t.wait_for("^> .*get_poll", b"t")
        os.write(t.ours, b"q")
        assert t.end() == 0


def threads_without_a_runtime():
    with Scene("serve", program=f"{SCENE}_rt") as scene, Terminal(scene) as t:
        t.wait_for("^this process has no runtime now, so it has no tasks: h shows threads")
        t.wait_for("volt_sem_acquire of 'slots'", b"h")
        os.write(t.ours, b"q")
        assert t.end() == 0


def arrows_choose_a_row():
    with Scene() as scene, Terminal(scene) as t:
        chosen = t.wait_for("^> .*get_poll")
        t.wait_for("^> .*get_in_time_poll", b"\x1b[B" * 5)
        assert t.wait_for("^> .*get_poll", b"\x1b[A\x1bOA\x1b[A\x1b[A\x1b[A") and chosen
        os.write(t.ours, b"q")
        assert t.end() == 0


def it_follows_the_size_of_the_terminal():
    with Scene() as scene, Terminal(scene) as t:
        for rows, columns in (24, 120), (10, 60), (5, 20), (2, 8), (60, 300):
            t.resize(rows, columns)
            t.bytes = b""
            os.kill(t.process.pid, signal.SIGWINCH)
            end = time.monotonic() + LIMIT
            while b"\x1b[%dH" % rows not in t.bytes and time.monotonic() < end:
                t.read(0.2)
            t.screen()  # which looks at the size of all lines
        t.wait_for("get_in_time_poll")
        os.write(t.ours, b"q")
        assert t.end() == 0


def a_pause_holds_what_is_shown():
    with Scene() as scene, Terminal(scene, "--period", "100") as t:
        t.wait_for("get_poll")
        t.wait_for("PAUSED", b"p")
        t.bytes = b""
        t.read(0.5)
        assert t.bytes == b""
        t.wait_for("p pause", b"p")
        os.write(t.ours, b"q")
        assert t.end() == 0


def signals_end_it_and_leave_the_terminal_as_it_was():
    for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT:
        with Scene() as scene, Terminal(scene) as t:
            t.wait_for("get_poll")
            os.kill(t.process.pid, number)
            assert t.end() == -number
    with Scene() as scene, Terminal(scene) as t:
        t.wait_for("get_poll")
        os.write(t.ours, b"\x03")
        assert t.end() == -signal.SIGINT


def a_stop_leaves_the_terminal_for_a_while():
    with Scene() as scene, Terminal(scene) as t:
        t.wait_for("get_poll")
        t.bytes = b""
        os.kill(t.process.pid, signal.SIGTSTP)
        assert os.WIFSTOPPED(os.waitpid(t.process.pid, os.WUNTRACED)[1])
        t.read(0.5)
        assert LEAVE in t.bytes
        assert termios.tcgetattr(t.theirs) == t.before
        t.bytes = b""
        os.kill(t.process.pid, signal.SIGCONT)
        t.wait_for("get_poll")
        assert ENTER in t.bytes
        os.write(t.ours, b"q")
        assert t.end() == 0


def a_process_that_ends_leaves_its_last_screen():
    with Scene() as scene, Terminal(scene, "--pid", str(scene.pid), "--period", "100") as t:
        t.wait_for("get_poll")
        scene.process.kill()
        scene.process.wait()
        t.bytes = b""
        t.wait_for("closed the connection|refused")
        t.wait_for("get_poll")
        os.write(t.ours, b"q")
        assert t.end() == 0


def a_process_that_is_stopped_is_waited_for():
    with Scene() as scene, Terminal(scene, "--period", "100") as t:
        t.wait_for("get_poll")
        scene.stop()
        t.wait_for("does not answer")
        os.kill(scene.pid, signal.SIGCONT)
        t.wait_for("^runtime 'scene'")
        os.write(t.ours, b"q")
        assert t.end() == 0


def a_rude_name_is_harmless():
    with Scene("rude") as scene, Terminal(scene) as t:
        t.wait_for(r"^> p\?\[2Jool\?\?\? ", b"o")
        assert b"ool\xc2\x9b" not in t.bytes and t.bytes.count(b"\x1b[2J") <= 1
        os.write(t.ours, b"q")
        assert t.end() == 0


def without_a_terminal_it_says_so():
    with Scene() as scene:
        assert "no terminal" in scene.top(code=2)


if __name__ == "__main__":
    run(keys_lead_from_table_to_table, threads_without_a_runtime, arrows_choose_a_row, it_follows_the_size_of_the_terminal,
        a_pause_holds_what_is_shown, signals_end_it_and_leave_the_terminal_as_it_was,
        a_stop_leaves_the_terminal_for_a_while, a_process_that_ends_leaves_its_last_screen,
        a_process_that_is_stopped_is_waited_for, a_rude_name_is_harmless, without_a_terminal_it_says_so)
