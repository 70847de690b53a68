#!/usr/bin/env python3
"""What volt-top prints: of a process that serves it, of one that hangs, of none."""
import os
import signal
import socket

from kit import SCENE, Scene, expect, knows_holders, lines_of_source, run

GET_LINE = lines_of_source("the line of the test")


def tasks_objects_and_workers_are_shown():
    with Scene() as scene:
        text = scene.top("--pid", str(scene.pid), "--once")
        expect(text, rf"^volt-top: sight_scene \({scene.pid}\), volt \d+\.\d+\.\d+, 1 runtime, 6 tasks$",
               r"^runtime 'scene': 2 workers", "^WORKERS", "^scene-w0 ", "^scene-w1 ", "^OBJECTS",
               "^TASKS", "^THREADS THAT BLOCK", r"\d sight_scene .*volt_mutex_lock of mutex 0x")
        for pattern in (r"^pool +semaphore .* 5 +0 .*0 of 8 free$", r"^0x[0-9a-f]+ +mutex .* 1 +1 .*locked",
                        rf"waits +get_poll +sight_scene.c:{GET_LINE} .*volt_sem_acquire of 'pool'$",
                        "waits +get_in_time_poll .*volt_mutex_lock of mutex 0x"):
            expect(text, pattern)


def the_only_process_needs_no_number():
    with Scene() as scene:
        assert scene.top("--once").startswith(f"volt-top: sight_scene ({scene.pid})")
        expect(scene.top("--list"), rf"^ *{scene.pid}  sight_scene +{scene.directory}/volt/{scene.pid}.sock$")
        path = f"{scene.directory}/volt/{scene.pid}.sock"
        assert scene.top("--socket", path, "--once").startswith(f"volt-top: sight_scene ({scene.pid})")


def a_process_is_named_without_an_option():
    with Scene() as scene, Scene("silent"):
        for arguments in ("--once", str(scene.pid)), (str(scene.pid), "--once"):
            assert scene.top(*arguments).startswith(f"volt-top: sight_scene ({scene.pid})")
        expect(scene.top("--dump", str(scene.pid)), "^runtime 0x")


def threads_without_a_runtime_are_shown():
    with Scene("serve", program=f"{SCENE}_rt") as scene:
        text = scene.top("--once")
        expect(text, "0 runtimes, 0 tasks$", "^this process has no runtime now", "^THREADS THAT BLOCK")
        expect(text, "volt_sem_acquire of 'slots'$")
        expect(text, "^slots +semaphore .* 0 +2 .* 0 free$")
        expect(text, "mutex .* 0 +1 .* locked" + (r", held by thread \d+ for .* \(threads_of_core.c:\d+\)$" if knows_holders() else "$"))
        expect(text, "volt_mutex_lock of mutex 0x[0-9a-f]+" + (r", held by thread \d+" if knows_holders() else "$"))
        dump = scene.top("--dump")
        expect(dump, r"volt_sem_acquire 1 of 'slots' \(semaphore 0x[0-9a-f]+: 0 free, 2 wait\)$")
        expect(dump, r"volt_mutex_lock of mutex 0x.* \(locked, 1 waits\)" + (", held by thread" if knows_holders() else "$"))


def what_a_build_does_not_know_is_said():
    """Two threads have locked two mutexes in different orders."""
    unknown = "who holds a lock is known in builds with VOLT_SIGHT=1$"
    with Scene("serve", program=f"{SCENE}_rt") as scene:
        if knows_holders():
            expect(scene.top("--deadlocks"), "^deadlock:$", "held by thread")
            assert "VOLT_SIGHT=1" not in scene.top("--once")
        else:
            expect(scene.top("--deadlocks", code=1), unknown)
            expect(scene.top("--once"), "^" + unknown)
    with Scene() as scene:
        if knows_holders():
            assert scene.top("--deadlocks") == "no deadlock\n"
        else:
            expect(scene.top("--deadlocks", code=1), unknown)


def fibers_and_functions_without_a_name_are_shown():
    with Scene("fibers") as scene:
        text = scene.top("--once")
        expect(text, "^runtime 'scene': .* fibers: 2;")
        expect(text, r"waits +named +\d+ +volt_cond_wait\w* of cond 0x[0-9a-f]+$")
        expect(text, r"waits +sight_scene\+0x[0-9a-f]+ +\d+ +volt_cond_wait\w* of cond 0x[0-9a-f]+$")
        expect(text, r"waits +sight_scene\+0x[0-9a-f]+ +1 +NOTHING CAN WAKE IT$")


def only_old_tasks_are_shown():
    with Scene() as scene:
        assert "get_poll" not in scene.top("--once", "--older", "3600000")
        text = scene.top("--once", "--tasks", "2")
        assert text.count("get_poll") == 2
        assert "not all is shown" in text


def what_ended_processes_have_left_is_removed():
    with Scene() as scene, Scene("serve", program=f"{SCENE}_rt") as other:
        places = [f"{s.directory}/volt/{s.pid}.sock" for s in (scene, other)]
        moved = f"{scene.directory}/volt/{other.pid}.sock"
        other.process.communicate()  # its input ends, and it returns from main()
        assert os.path.exists(places[0]) and not os.path.exists(places[1])
        with Scene("serve", program=f"{SCENE}_rt") as killed:
            moved = f"{scene.directory}/volt/{killed.pid}.sock"
            os.rename(f"{killed.directory}/volt/{killed.pid}.sock", moved)
            killed.process.kill()
            killed.process.wait()
        assert os.path.exists(moved)
        expect(scene.top("--list"), f"{scene.pid}.sock$")
        assert os.path.exists(places[0]) and not os.path.exists(moved)


def a_process_that_hangs_answers():
    with Scene("hangs") as scene:
        text = scene.top("--once")
        expect(text, "^scene-w0 .* runs compute_poll for ", "^scene-w1 .* runs compute_poll for ",
               "runs +compute_poll .*on scene-w")


def a_dump_is_printed():
    with Scene() as scene:
        expect(scene.top("--dump"), "^runtime 0x", "5 tasks|get_poll", "'pool'")


def names_do_not_command_the_terminal():
    with Scene("rude") as scene:
        expect(scene.top("--once"), r"^p\?\[2Jool\?\?\? ")  # kit.py looks at every byte
        scene.top("--dump")


def what_is_not_there_is_said():
    with Scene("silent") as scene:
        expect(scene.top("--once", code=1), "^volt-top: no process serves volt-top")
        expect(scene.top("--pid", str(scene.pid), "--once", code=1), "does not serve .*--cold")
        expect(scene.top("--socket", "/nowhere/x.sock", "--once", code=1), "No such file")
        expect(scene.top("--socket", "x.sock", "--once", code=1), "absolute")
        expect(scene.top("--once", "--list", code=2), "^usage:")
        expect(scene.top("--tasks", "0", code=2), "not a number from 1 to 1000")
        expect(scene.top("--pid", "12x", code=2), "not a number")
        expect(scene.top(str(scene.pid), "--once", code=1), "does not serve .*--cold")
        expect(scene.top("4711x", code=2), "not a number")
        expect(scene.top("4711", "4712", code=2), "more than one PID")
        expect(scene.top("--pid", "4711", "4712", code=2), "more than one PID")
        expect(scene.top("--list", "4711", code=2), "of all processes")


def two_processes_have_to_be_told_apart():
    with Scene() as scene, Scene() as other:
        os.rename(f"{other.directory}/volt/{other.pid}.sock", f"{scene.directory}/volt/{other.pid}.sock")
        expect(scene.top("--once", code=1), "^volt-top: 2 processes serve")
        assert scene.top("--once", "--pid", str(other.pid)).startswith(f"volt-top: sight_scene ({other.pid})")
        # and one cannot take the place of the other
        os.rename(f"{scene.directory}/volt/{other.pid}.sock", f"{scene.directory}/volt/{scene.pid}.sock")
        expect(scene.top("--once", "--pid", str(scene.pid), code=1), f"is of process {other.pid}")


def a_process_that_is_stopped_is_not_waited_for_long():
    with Scene() as scene:
        scene.stop()
        expect(scene.top("--once", code=1), "does not answer")
        os.kill(scene.pid, signal.SIGCONT)
        expect(scene.top("--once"), "^TASKS")


def an_answer_that_is_none_is_refused():
    answers = [b"hello\n", b"{}\n", b'{"volt":2,"a":"end"}\n', b"\xff\n", b"x" * 20000, b"",
               b'{"volt":1,"a":"error","error":"full","text":"four clients"}\n',
               b'{"volt":1,"a":"hello","pid":"x","program":7}\n' * 3 + b'{"volt":1,"a":"end","q":"hello"}\n']
    with Scene("silent") as scene:
        path = f"{scene.directory}/fake.sock"
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(1)
        for answer in answers:
            if os.fork() == 0:
                client, _ = server.accept()
                client.recv(1000)
                try:
                    client.sendall(answer)
                finally:
                    client.close()
                    os._exit(0)
            scene.top("--socket", path, "--once", code=1)
            os.wait()
        server.close()


if __name__ == "__main__":
    run(tasks_objects_and_workers_are_shown, the_only_process_needs_no_number, a_process_is_named_without_an_option,
        threads_without_a_runtime_are_shown, what_a_build_does_not_know_is_said, fibers_and_functions_without_a_name_are_shown, only_old_tasks_are_shown,
        what_ended_processes_have_left_is_removed,
        a_process_that_hangs_answers, a_dump_is_printed, names_do_not_command_the_terminal,
        what_is_not_there_is_said, two_processes_have_to_be_told_apart,
        a_process_that_is_stopped_is_not_waited_for_long, an_answer_that_is_none_is_refused)
