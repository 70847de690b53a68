#!/usr/bin/env python3
"""volt-top --cold: a process that serves nothing, hangs, is stopped, has no symbols, or moves."""
import os
import re
import signal
import subprocess
import sys

from kit import SCENE, Scene, expect, knows_holders, lines_of_source, run

GET_LINE = lines_of_source("the line of the test")
WHOLE = (r"^volt-top: sight_scene.* \(\d+\), read without its help, 1 runtime, 6 tasks$",
         r"^runtime 'scene': 2 workers", "^scene-w0 ", "^scene-w1 ", "^OBJECTS", "^TASKS",
         "^THREADS THAT BLOCK", "volt_mutex_lock of mutex 0x")
EACH = ("^pool +semaphore .* 5 +0", "mutex .* 1 +1",
        rf"waits +get_poll +sight_scene.c:{GET_LINE} .*volt_sem_acquire of 'pool'",
        "waits +get_in_time_poll .*volt_mutex_lock of mutex 0x")


def expect_whole(text):
    expect(text, *WHOLE)
    for pattern in EACH:  # in any order
        expect(text, pattern)


def cold(scene, *arguments, code=0):
    return scene.top("--cold", str(scene.pid), *arguments, code=code)


def a_process_that_serves_nothing():
    with Scene("silent") as scene:
        expect_whole(cold(scene))


def a_process_that_is_stopped():
    with Scene("silent") as scene:
        scene.stop()
        expect_whole(cold(scene))
        text = cold(scene)
        assert "torn" not in text and "not all" not in text
        os.kill(scene.pid, signal.SIGCONT)


def a_process_that_hangs():
    with Scene("hangs") as scene:
        expect(cold(scene), "^scene-w0 .* runs compute_poll for ", "^scene-w1 .* runs compute_poll for ",
               f"waits +get_poll +sight_scene.c:{GET_LINE} ", "runs +compute_poll .*on scene-w")


def a_program_without_symbols():
    with Scene("silent", program=f"{SCENE}.stripped") as scene:
        symbols = subprocess.run(["nm", f"{SCENE}.stripped"], capture_output=True, text=True)
        assert "no symbols" in symbols.stderr, symbols
        expect_whole(cold(scene))


def tasks_that_move_are_said_to():
    """64 tasks wake each 50 us. Each look ends, has the tasks that rest as they are, and marks what has
    moved. It is repeated until a task was caught, which takes a few looks."""
    torn = looks = 0
    with Scene("moves") as scene:
        while torn == 0 or looks < 20:
            text = cold(scene, "--tasks", "1000")
            assert len(re.findall("waits +get_poll .*volt_sem_acquire of 'pool'", text)) <= 5
            assert text.count("get_poll") == 5 or "not all is shown" in text, text
            torn += text.count("torn: it moved meanwhile")
            looks += 1
            if looks == 1000:
                sys.exit("no task was ever caught as it moved")
    print(f"{torn} torn in {looks} looks")


def only_old_tasks():
    with Scene("silent") as scene:
        assert "get_poll" not in cold(scene, "--older", "3600000")
        assert cold(scene, "--tasks", "2").count("get_poll") == 2


def threads_without_a_runtime():
    """With libvolt-sync alone, and with libvolt-rt: each thread is there, with its name, its call and its object."""
    for library in "sync", "rt":
        with Scene("stay", program=f"{SCENE}_{library}") as scene:
            text = cold(scene)
            expect(text, rf"^volt-top: sight_scene_\w+ \({scene.pid}\), read without its help, 0 runtimes, 0 tasks$",
                   "^this process has no runtime now, so it has no tasks$", "^THREADS THAT BLOCK")
            name = r"\d " + f"sight_scene_{library}"[:15]
            for call, object in (("volt_mutex", "mutex 0x"), ("volt_sem", "'slots'"), ("volt_cond", "cond 0x")):
                expect(text, rf"{name} +{call}\w* +{call}\w* of {object}")
            assert len(re.findall("volt_mutex_lock of mutex", text)) == 2, text
            held = r"mutex .* 0 +1 .* held by thread \d+ for .* \(threads_of_core.c:\d+\)$"
            assert len(re.findall(held, text, re.M)) == (2 if knows_holders() else 0), text
            expect(text, "^slots +semaphore .* 0 +2 ")


def a_program_that_does_not_wait_says_so():
    with Scene("free", program=f"{SCENE}_sync") as scene:
        expect(cold(scene), "no tasks; no thread of it sleeps in a call of volt$")


def fibers_and_functions_without_a_name():
    with Scene("fibers") as scene:
        text = cold(scene)
        expect(text, "^runtime 'scene': .* fibers: 2;")
        expect(text, r"waits +named +\d+ +volt_cond_wait\w* of cond 0x[0-9a-f]+$")
        expect(text, r"waits +sight_scene\+0x[0-9a-f]+ +\d+ +volt_cond_wait\w* of cond 0x[0-9a-f]+$")
        expect(text, r"waits +sight_scene\+0x[0-9a-f]+ +1 +NOTHING CAN WAKE IT$")
        assert "volt_park_until" not in text


def a_process_without_volt():
    with Scene("silent") as scene:
        sleeper = subprocess.Popen(["sleep", "60"])
        expect(scene.top("--cold", str(sleeper.pid), code=1), "has no volt")
        sleeper.kill()
        sleeper.wait()
        expect(scene.top("--cold", str(sleeper.pid), code=1), "^volt-top: process")


OTHER_VERSION = """
import mmap, sys, tempfile
file = tempfile.TemporaryFile()
file.write(bytes(4096))
file.flush()
data = mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE)
data[:16] = b"volt-" + b"debugger-1" + bytes(1)
print("ready", flush=True)
sys.stdin.read()
"""


def a_volt_of_another_version():
    with Scene("-c", OTHER_VERSION, program=sys.executable) as scene:
        expect(cold(scene, code=1), "has a volt of another version than this volt-top$")


def may_read():
    """Whether a process may read another of its user."""
    scope = "/proc/sys/kernel/yama/ptrace_scope"
    return os.geteuid() == 0 or not os.path.exists(scope) or open(scope).read() == "0\n"


if __name__ == "__main__":
    if not may_read():
        print("skipped: a process may not read another's memory here")
        sys.exit(77)
    run(a_process_that_serves_nothing, a_process_that_is_stopped, a_process_that_hangs,
        a_program_without_symbols, threads_without_a_runtime, a_program_that_does_not_wait_says_so,
        fibers_and_functions_without_a_name, tasks_that_move_are_said_to, only_old_tasks, a_process_without_volt,
        a_volt_of_another_version)
