#!/usr/bin/env python3
"""ledger_test.py PROGRAM [--whole] [test]...: the books of the gate, kept by
voltgate_ledger: order of admission, limit, permits, and how soon a client that hangs up has left.
With one worker, with two and with four.

9,000 connections; --whole or VOLT_TEST_SECONDS from 5 on: 100,000."""

from voltgate_kit import *

SEED = os.environ.get("VOLT_TEST_SEED") or str(int(time.time()))


def ledger():
    return os.path.join(os.path.dirname(program()), "voltgate_ledger")


def ledger_program():
    return os.path.exists(ledger())


WORKERS = (1, 2, 4)


def keep_books(phase, connections, limit, window, changes=0, **options):
    upstream = socket.create_server(("127.0.0.1", 0), backlog=4096)
    upstream.setblocking(False)
    gate = Gate(f"127.0.0.1:{upstream.getsockname()[1]}", limit=limit, queue=window + 10,
                queue_timeout="0", **options)
    run = Process([ledger(), str(upstream.fileno()), str(gate.port), str(gate.admin_port), Gate.TOKEN,
                   phase, str(connections), str(limit), str(window), str(changes), SEED],
                  fds=(upstream.fileno(),))
    code = run.process.wait(LIMIT + connections / 50)
    found = dict(re.findall(r"(\w+)=([\d.]+)", run.said()))
    upstream.close()
    if not gate.alive():
        raise AssertionError(f"the gate has ended: {gate.said()[-2000:]}")
    require(code == 0, f"seed {SEED}: {run.said()[-1500:]}")
    gate.settle()
    status = gate.status()
    totals = status["totals"]
    equal(totals["accepted"], connections, "accepted")
    equal(totals["admitted"] + totals["left"], connections, f"admitted or left: {totals}")
    require(totals["admitted"] >= int(found["served"]), f"admitted: {totals}")
    equal(sum(totals["refused"].values()), 0, "refused")
    samples = gate.metrics()
    equal(samples['voltgate_accepted_total{gate="main"}'], connections, "accepted, of /metrics")
    equal(samples['voltgate_hold_seconds_count{gate="main"}'], totals["admitted"], "holds")
    require(gate.descriptors() < 60, f"descriptors left: {gate.descriptors()}")
    equal(gate.stop(), 0, "exit code")
    return found


def said(found):
    return (f"{found['served']} served, {found['hung_up']} hung up, {found['inversions']} inversions, "
            f"moved by {found['displacement']}, {found['seconds']} s")


def with_workers(keep):
    """The same books with one worker, with two and with four."""
    return "; ".join(f"{workers}: {keep(workers)}" for workers in WORKERS)


def test_limit_1():
    """limit 1: no inversion against the order of accept"""
    def keep(workers):
        found = keep_books("order", many(1000, 40000), 1, 300, workers=workers)
        equal(found["inversions"], "0", "inversions")
        return said(found)
    return with_workers(keep)


def test_limit_8():
    """limit 8: no client is moved by 8 places"""
    return with_workers(lambda w: said(keep_books("order", many(700, 20000), 8, 300, workers=w)))


def test_free():
    """limit 6, servers that end when they like: no client is passed"""
    return with_workers(lambda w: said(keep_books("free", many(500, 10000), 6, 200, workers=w)))


def test_changes():
    """the limit is changed over and over, and never exceeded"""
    def keep(workers):
        first = keep_books("order", many(400, 15000), 8, 200, changes=many(40, 500), workers=workers)
        second = keep_books("free", many(400, 15000), 8, 200, changes=many(40, 500), workers=workers)
        equal(int(first["changes"]) + int(second["changes"]), many(80, 1000), "changes")
        return f"{first['most_open']} and {second['most_open']} open at most"
    return with_workers(keep)


def test_leave():
    """from hanging up to having left the queue: p99 below 1 ms"""
    found = keep_books("leave", many(1500, 20000), 2, 200)
    samples = int(found["leave_samples"])
    require(samples >= many(50, 1500), f"{samples} samples")
    # What it takes for the same between two threads is not the gate's.
    took, control = float(found["leave_p99_us"]), float(found["control_p99_us"])
    in_time(took / 1e6, max(1000, 5 * control) / 1e6, f"they have left, of {found} the last hundredth")
    return (f"{samples} samples, p50 {found['leave_p50_us']}, p90 {found['leave_p90_us']}, p99 "
            f"{found['leave_p99_us']} us; a plain thread: {found['control_p50_us']}, {control:.0f} us")


run_tests([gate_is_there, ledger_program], test_limit_1, test_limit_8, test_free, test_changes,
          test_leave)
