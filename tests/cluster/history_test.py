#!/usr/bin/env python3
"""history_test.py: that the checker of histories finds what is wrong: a history that is right passes,
and for each thing that can be wrong there is one with exactly that, which is refused for it."""

import os
import subprocess
import sys
import tempfile

from history import *

failures = 0


def right():
    """Two slots, two hosts; a permit that is lost, a host that was killed, a write that is late."""
    a = """
        10 acquire task=0 n=1
        11 queued task=0 n=1
        20 acquire task=1 n=1
        21 queued task=1 n=1
        100 acquired task=0 n=1 slot=0 era=1 epoch=7 grant=1 valid_until=200
        150 valid task=0 n=1 valid_until=300
        160 write task=0 n=1
        165 wrote task=0 n=1 verdict=accepted
        170 release task=0 n=1
        180 acquired task=1 n=1 slot=0 era=1 epoch=7 grant=2 valid_until=300
        300 lost task=1 n=1
        410 write task=1 n=1
        430 wrote task=1 n=1 verdict=refused
        440 release task=1 n=1
        450 acquire task=0 n=2
        460 gave-up task=0 n=2 outcome=closed
        500 end"""
    b = """
        50 acquire task=0 n=1
        60 acquired task=0 n=1 slot=1 era=1 epoch=8 grant=1 valid_until=300
        90 release task=0 n=1
        300 acquire task=0 n=2
        320 acquired task=0 n=2 slot=0 era=1 epoch=9 grant=1 valid_until=500
        330 write task=0 n=2
        340 wrote task=0 n=2 verdict=accepted
        350 acquire task=1 n=1"""
    resource = """
        162 wrote host=a task=0 n=1 slot=0 era=1 epoch=7 grant=1 accepted=1
        335 wrote host=b task=0 n=2 slot=0 era=1 epoch=9 grant=1 accepted=1
        420 wrote host=a task=1 n=1 slot=0 era=1 epoch=7 grant=2 accepted=0"""
    return {"a": a, "b": b, "resource": resource}


def history_of(texts, **named):
    history = History([], **{"limits": [(0, 2)], "killed": {"b"}, "settle": 5, **named})
    for name, text in texts.items():
        lines = [line for line in text.splitlines() if line.strip()]
        history.add_resource(lines) if name == "resource" else history.add_host(name, lines)
    return history


def changed(where, old, new):
    texts = right()
    assert texts[where].count(old) == 1, f"{old} stands {texts[where].count(old)} times in {where}"
    texts[where] = texts[where].replace(old, new)
    return texts


def fail(what):
    global failures
    failures += 1
    print(f"FAILED: {what}")


def refused(by, what, texts, **named):
    """The history is refused by this check, and by no other: so it is wrong in that way alone."""
    found = [one.__name__ for one in CHECKS if one(history_of(texts, **named))]
    expected = [one.__name__ for one in (by if isinstance(by, tuple) else (by,))]
    if sorted(found) != sorted(expected):
        fail(f"{what}: refused by {found}, not by {expected}")
    else:
        print(f"ok: refused: {what}")


def accepted(what, texts, **named):
    found = check(history_of(texts, **named))
    if found:
        fail(f"{what}: {found}")
    else:
        print(f"ok: accepted: {what}")


def holder(name, slot, begin, end, epoch=1, grant=1, **more):
    """A host with one permit."""
    until = more.get("valid_until", end)
    return f"""
        {begin - 2} acquire task=0 n=1
        {begin} acquired task=0 n=1 slot={slot} era=1 epoch={epoch} grant={grant} valid_until={until}
        {end} release task=0 n=1
        {end + 1} end"""


def test_limit():
    three = {name: holder(name, slot, 10 + slot, 100, valid_until=200)
             for slot, name in enumerate("abc")}
    accepted("three permits of three", three, limits=[(0, 3)], killed=set())
    # As if the third slot were there twice: number 3 within a limit that was 4 for an instant.
    refused(at_most_the_limit, "three permits of two", three, killed=set())
    accepted("three permits, when the limit has just been lowered", three,
             limits=[(0, 3), (10, 2)], killed=set())
    refused(at_most_the_limit, "a third permit long after the limit was lowered",
            {**three, "c": holder("c", 2, 50, 100, valid_until=200)}, limits=[(0, 3), (10, 2)],
            killed=set())
    refused(at_most_the_limit, "one permit, of a slot beyond the limit",
            {"a": holder("a", 2, 50, 100)}, killed=set())
    accepted("the same after the limit was raised", {"a": holder("a", 2, 50, 100)},
             limits=[(0, 2), (40, 3)], killed=set())
    refused(at_most_the_limit, "the same before the limit was raised", {"a": holder("a", 2, 50, 100)},
            limits=[(0, 2), (60, 3)], killed=set())
    many = {name: holder(name, slot, 10 + slot, 100, valid_until=200)
            for slot, name in ((0, "a"), (1, "b"), (0, "c"))}
    many["c"] = holder("c", 0, 12, 100, epoch=2, valid_until=200)
    refused((at_most_the_limit, one_at_a_time, told_before), "three permits on two slots", many, killed=set())


def test_one_at_a_time():
    begins = "320 acquired task=0 n=2"
    texts = changed("b", begins, "299 acquired task=0 n=2")
    texts["b"] = texts["b"].replace("300 acquire task=0", "290 acquire task=0")
    refused((one_at_a_time, told_before), "a permit begins before another one of the slot was lost", texts)
    refused((one_at_a_time, told_before), "a permit that was not lost, and is valid", changed(
        "a", "180 acquired task=1 n=1 slot=0 era=1 epoch=7 grant=2 valid_until=300\n"
        "        300 lost task=1 n=1",
        "180 acquired task=1 n=1 slot=0 era=1 epoch=7 grant=2 valid_until=321"))
    two = {"a": holder("a", 0, 10, 100), "b": holder("b", 0, 50, 60, epoch=2),
           "c": holder("c", 0, 70, 80, epoch=3)}
    found = one_at_a_time(history_of(two, killed=set()))
    if len(found) != 2:
        fail(f"the third overlaps with the first, which is not the one before it: {found}")
    accepted("a permit whose validity had passed, though it was not released",
             {"a": holder("a", 0, 10, 100, valid_until=50), "b": holder("b", 0, 50, 60, epoch=2)},
             killed=set(), stopped={"a"})


def test_fences():
    for what, old, new in (
            ("an older era", "era=1 epoch=9", "era=0 epoch=9"),
            ("an older epoch", "era=1 epoch=9", "era=1 epoch=6"),
            ("the same epoch, an older grant", "epoch=9 grant=1", "epoch=7 grant=1")):
        texts = changed("b", old, new)
        texts["resource"] = "\n".join(right()["resource"].strip().splitlines()[:1])
        history = history_of(texts)
        if not fences_rise(history) or one_at_a_time(history):
            fail(f"{what}: {check(history)}")
        else:
            print(f"ok: refused: {what}")
    newer = changed("b", "era=1 epoch=9", "era=2 epoch=1")
    newer["resource"] = newer["resource"].replace("era=1 epoch=9", "era=2 epoch=1")
    accepted("a newer era with an older epoch", newer)
    # A host that was stopped between the grant and its note: it notes a permit that is void by then.
    late = {"a": holder("a", 0, 10, 20, epoch=9),
            "b": holder("b", 0, 50, 60, epoch=8, valid_until=30)}
    accepted("an older fence that is noted when it is not valid any more", late, killed=set())
    late["b"] = holder("b", 0, 50, 60, epoch=9, valid_until=30)
    refused(fences_rise, "the same fence twice, once void", late, killed=set())


def waiters(order):
    """Task 9 has the slot; 0, 1 and 2 queue in this order, and are served as `order` says."""
    lines = ["1 acquire task=9 n=1",
             "2 acquired task=9 n=1 slot=0 era=1 epoch=1 grant=1 valid_until=900"]
    for task in range(3):
        lines += [f"{10 + 2 * task} acquire task={task} n=1", f"{11 + 2 * task} queued task={task} n=1"]
    lines.append("100 release task=9 n=1")
    for i, task in enumerate(order):
        lines += [f"{110 + 20 * i} acquired task={task} n=1 slot=0 era=1 epoch=1 grant={i + 2} valid_until=900",
                  f"{120 + 20 * i} release task={task} n=1"]
    return {"a": "\n".join([*lines, "900 end"])}


def test_fifo():
    one = {"killed": set(), "limits": [(0, 1)]}
    accepted("three that wait, in order", waiters((0, 1, 2)), **one)
    for order in ((1, 0, 2), (0, 2, 1), (2, 1, 0)):
        refused(first_come_first_served, f"three that wait, served in the order {order}", waiters(order), **one)
    lost = waiters((0, 1, 2))
    lost["a"] = lost["a"].replace("100 release task=9", "90 lost task=9 n=1\n 800 release task=9")
    accepted("the permit before was lost, and released when those that waited had been served", lost, **one)
    for known in ("95 lost task=9 n=1\n", ""):  # the host was stopped: its task did not see the loss
        anew = waiters((1, 0, 2))
        anew["a"] = anew["a"].replace("valid_until=900", "valid_until=95", 1).replace("100 release", f"{known}100 release")
        accepted("a wait in which the host lost its leases", anew, **one)
    unknown = waiters((1, 0, 2))
    unknown["a"] = unknown["a"].replace("11 queued task=0 n=1\n", "")
    accepted("a task of which it is not known that it waited before", unknown, **one)
    # A task to which a permit is given takes a slot when it runs: here task 1 has run before task 0.
    both = waiters((1, 0, 2))
    accepted("a second slot is free, so the first in the queue may have been given it", both, killed=set())
    both["b"] = holder("b", 1, 105, 800)
    refused(first_come_first_served, "the same while another host has the second slot", both, killed=set())


def test_outcomes():
    refused(every_wait_ends, "an acquire without an outcome",
            changed("a", "460 gave-up task=0 n=2 outcome=closed", ""))
    refused(every_wait_ends, "a permit that is never released", changed("a", "440 release task=1 n=1", ""))
    refused(every_wait_ends, "a host that fell over", changed("a", "500 end", ""))
    refused(every_wait_ends, "a host that was not killed, as far as the test knows", right(), killed=set())
    refused(every_wait_ends, "a host that was killed, and goes on to ask before it has an answer",
            changed("b", "350 acquire task=1 n=1", "350 acquire task=1 n=1\n        360 acquire task=1 n=2"))


def test_validity():
    refused(validity_moves_on, "valid_until goes back",
            changed("a", "150 valid task=0 n=1 valid_until=300",
                    "150 valid task=0 n=1 valid_until=300\n 155 valid task=0 n=1 valid_until=299"))
    refused(told_before, "a host that runs is told when another one has the slot",
            changed("a", "300 lost task=1 n=1", "325 lost task=1 n=1"))
    accepted("the same of a host that was stopped", changed("a", "300 lost task=1 n=1", "325 lost task=1 n=1"),
             stopped={"a"})


def test_void():
    two = {"a": holder("a", 0, 10, 100), "b": holder("b", 0, 50, 60, epoch=2)}
    history = history_of(two, killed=set())
    history.void_before(2, 45)
    found = check(history)
    history.void_before(1, 5)  # changes nothing: both are newer
    if found or check(history):
        fail(f"a lease that was deleted by hand: {found}")
    history = history_of(two, killed=set())
    history.void_before(2, 55)
    if not one_at_a_time(history):
        fail("a lease that was deleted by hand, after another one began")


def test_resource():
    refused(resource_in_order, "an older write that is taken", changed("resource", "accepted=0", "accepted=1"))
    refused(resource_in_order, "a write that is refused without a reason",
            changed("resource", "335 wrote host=b task=0 n=2 slot=0 era=1 epoch=9 grant=1 accepted=1",
                    "335 wrote host=b task=0 n=2 slot=0 era=1 epoch=9 grant=1 accepted=0\n"
                    "340 wrote host=b task=0 n=2 slot=0 era=1 epoch=9 grant=1 accepted=1"))
    refused(resource_in_order, "a fence that was not granted", changed("resource", "epoch=9", "epoch=10"))
    refused(resource_in_order, "the fence of another host's permit", changed("resource", "host=b task=0 n=2",
                                                                           "host=a task=0 n=1"))
    equal = right()
    equal["resource"] += "\n 350 wrote host=b task=0 n=2 slot=0 era=1 epoch=9 grant=1 accepted=1"
    equal["resource"] = "\n".join(sorted(equal["resource"].strip().splitlines(),
                                         key=lambda line: int(line.split()[0])))
    accepted("a second write with the same fence", equal)
    if late_writes(history_of(right())) != (0, 1):
        fail(f"late writes: {late_writes(history_of(right()))}")
    if late_writes(history_of(changed("resource", "420 wrote", "290 wrote"))) != (0, 0):
        fail("a write while the permit was valid counts as late")


def test_all_at_once():
    slots = {"a": "\n".join(f"{10 + slot} acquire task={slot} n=1\n{20 + slot} acquired task={slot} n=1 "
                            f"slot={slot} era=1 epoch={slot} grant=1 valid_until=99" for slot in range(3))}
    history = history_of(slots)
    if not all_at_once(history, "a", 3) or all_at_once(history, "a", 4):
        fail("three slots at once")
    slots["a"] += "\n 21 release task=0 n=1"
    if all_at_once(history_of(slots), "a", 3):
        fail("three slots, but not at once")


def test_files():
    with tempfile.TemporaryDirectory() as directory:
        for name, text in right().items():
            with open(f"{directory}/{name}.host", "w") as f:
                f.write("\n".join(line.strip() for line in text.strip().splitlines()) + "\n")
        command = [sys.executable, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "history.py"), "2",
                   f"{directory}/a.host", f"{directory}/b.host", "--resource", f"{directory}/resource.host"]
        for more, code in ((["--killed", "b"], 0), ([], 1)):
            ended = subprocess.run([*command, *more], capture_output=True, text=True)
            if ended.returncode != code:
                fail(f"as a program: {ended.returncode}, not {code}: {ended.stdout}{ended.stderr}")


if __name__ == "__main__":
    accepted("what is right", right())
    for test in (test_limit, test_one_at_a_time, test_fences, test_fifo, test_outcomes, test_validity,
                 test_void, test_resource, test_all_at_once, test_files):
        test()
    sys.exit(1 if failures else 0)
