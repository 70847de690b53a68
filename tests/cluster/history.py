#!/usr/bin/env python3
"""history.py: what many hosts noted of their permits, and whether it can have been one semaphore.

    history = History.read(["a.host", "b.host"], limits=[(0, 4)])
    complaints = check(history)             # none: nothing in it contradicts what is promised

A host notes one event on a line, before it calls what gives something up, after what gives it
something returned (cluster_host writes such files):

    NANOSECONDS WHAT key=value...           CLOCK_BOOTTIME, which is one for all hosts of a machine
    acquire task= n=                        is about to ask; task and n name the permit
    queued task= n=                         has asked, and waits
    acquired task= n= slot= era= epoch= grant= valid_until=
    valid task= n= valid_until=             it has moved on
    lost task= n=                           the host was told that it is lost
    write task= n=                          is about to write to the resource, with the fence
    wrote task= n= verdict=                 accepted, refused or unknown
    release task= n=                        is about to release
    gave-up task= n= outcome=               the wait ended without a permit
    end                                     all tasks have ended; a host that was killed has none

The resource notes each write, in the order in which it took or refused them:

    NANOSECONDS wrote host= task= n= slot= era= epoch= grant= accepted=0|1

A permit counts as held from `acquired` until the first of: release, lost, the last valid_until. That
is never longer than what is promised, so each complaint is about something that did happen. As a
program: history.py LIMIT FILE.host... [--resource FILE] [--killed NAME]..."""

import bisect
import dataclasses
import heapq
import os
import sys

FOREVER = 1 << 63


@dataclasses.dataclass
class Permit:
    host: str
    task: int
    n: int
    called: int
    queued: int = None
    acquired: int = None
    slot: int = None
    fence: tuple = None  # era, epoch, grant: what is compared for one slot
    valid_until: int = 0
    steps: list = dataclasses.field(default_factory=list)  # every valid_until that was noted
    lost: int = None
    released: int = None
    gave_up: str = None
    void: int = None  # when a person took the lease away
    writes: list = dataclasses.field(default_factory=list)  # (when, verdict or None)

    @property
    def end(self):
        return min(self.valid_until, self.lost or FOREVER, self.released or FOREVER, self.void or FOREVER)

    @property
    def was_valid(self):
        return self.acquired is not None and self.acquired < self.end

    def __str__(self):
        return f"{self.host}/{self.task}#{self.n}" + (
            f" (slot {self.slot}, fence {self.fence}, held {self.acquired}..{self.end})"
            if self.acquired is not None else "")


@dataclasses.dataclass
class Write:
    at: int
    host: str
    task: int
    n: int
    slot: int
    fence: tuple
    accepted: bool


@dataclasses.dataclass
class History:
    permits: list
    limits: list = dataclasses.field(default_factory=lambda: [(0, 1)])  # (since, limit), in order
    resource: list = dataclasses.field(default_factory=list)
    ended: set = dataclasses.field(default_factory=set)    # hosts that noted their end
    killed: set = dataclasses.field(default_factory=set)   # hosts that the test has killed
    stopped: set = dataclasses.field(default_factory=set)  # hosts that the test has stopped: told late
    settle: int = 2_000_000_000  # so long a host may not know of a new limit

    @property
    def hosts(self):
        return {p.host for p in self.permits} | self.ended

    @classmethod
    def read(cls, files, resource=None, **named):
        history = cls([], **named)
        for file in files:
            name = os.path.splitext(os.path.basename(file))[0]
            with open(file) as f:
                history.add_host(name, f.read().splitlines())
        if resource:
            with open(resource) as f:
                history.add_resource(f.read().splitlines())
        return history

    def add_host(self, name, lines):
        by_name = {}
        for line in lines:
            at, what, values = parsed(line)
            if what == "end":
                self.ended.add(name)
            if "task" not in values:
                continue
            key = values["task"], values["n"]
            if what == "acquire":
                if key in by_name:
                    raise ValueError(f"{name}: two acquires {key}")
                by_name[key] = Permit(name, *key, called=at)
            else:
                note(by_name[key], at, what, values)
        self.permits += by_name.values()

    def add_resource(self, lines):
        for line in lines:
            at, _, v = parsed(line)
            self.resource.append(Write(at, v["host"], v["task"], v["n"], v["slot"],
                                       (v["era"], v["epoch"], v["grant"]), bool(v["accepted"])))

    def void_before(self, epoch, at):
        """A person deleted all leases that are older than this: their permits were worth nothing from
        then on, and what is promised does not hold for them."""
        for permit in self.permits:
            if permit.fence and permit.fence[1] < epoch:
                permit.void = min(at, permit.void or FOREVER)

    def by_slot(self):
        """The permits that were valid, of each slot in the order in which they began."""
        slots = {}
        for permit in sorted((p for p in self.permits if p.was_valid), key=lambda p: p.acquired):
            slots.setdefault(permit.slot, []).append(permit)
        return slots

    def most_between(self, begin, end):
        """The highest limit that was in force at some time between the two."""
        found = [limit for i, (since, limit) in enumerate(self.limits) if since <= end and
                 (i + 1 == len(self.limits) or self.limits[i + 1][0] > begin)]
        return max(found, default=0)


def parsed(line):
    at, what, *more = line.split()
    values = dict(word.split("=", 1) for word in more)
    return int(at), what, {k: int(v) if v.lstrip("-").isdigit() else v for k, v in values.items()}


def note(permit, at, what, values):
    if what == "queued":
        permit.queued = at
    elif what == "acquired":
        permit.acquired, permit.slot = at, values["slot"]
        permit.fence = values["era"], values["epoch"], values["grant"]
    elif what == "lost":
        permit.lost = at
    elif what == "write":
        permit.writes.append((at, None))
    elif what == "wrote":
        permit.writes[-1] = permit.writes[-1][0], values["verdict"]
    elif what == "release":
        permit.released = at
    elif what == "gave-up":
        permit.gave_up = values["outcome"]
    elif what != "valid":
        raise ValueError(f"no event: {what}")
    if values.get("valid_until"):  # 0: it is lost
        permit.steps.append(values["valid_until"])
        permit.valid_until = max(permit.steps)


# ---- what is promised: each check returns what contradicts it ----

def at_most_the_limit(history):
    """At no time more permits are valid than the limit, and none of a slot beyond it. After the
    limit was lowered, what was held by then may be held to its end."""
    complaints, open_ends, begun = [], [], []
    for p in sorted((p for p in history.permits if p.was_valid), key=lambda p: p.acquired):
        while open_ends and open_ends[0][0] <= p.acquired:
            begun.remove(heapq.heappop(open_ends)[1])
        heapq.heappush(open_ends, (p.end, p.acquired))
        begun.append(p.acquired)
        most = history.most_between(min(begun) - history.settle, p.acquired)
        if len(open_ends) > most:
            complaints.append(f"{len(open_ends)} permits are valid at {p.acquired}, the limit is {most}")
        most = history.most_between(p.acquired - history.settle, p.acquired)
        if p.slot >= most:
            complaints.append(f"{p} has a slot beyond the limit of {most}")
    return complaints


def one_at_a_time(history):
    """No two permits of one slot are valid at once."""
    complaints = []
    for permits in history.by_slot().values():
        last = None
        for p in permits:
            if last and p.acquired < last.end:
                complaints.append(f"{last} and {p} are valid at once")
            if not last or p.end > last.end:
                last = p
    return complaints


def fences_rise(history):
    """Of two permits of one slot the later one has the greater fence; no fence is given twice."""
    complaints = []
    for permits in history.by_slot().values():
        for before, after in zip(permits, permits[1:]):
            if after.fence <= before.fence:
                complaints.append(f"the fence of {after} is not above that of {before}")
    seen = {}
    for p in history.permits:
        if p.acquired is None:
            continue
        if (p.slot, p.fence) in seen:
            complaints.append(f"{p} and {seen[p.slot, p.fence]} have the same fence")
        seen[p.slot, p.fence] = p
    return complaints


def losses(history, host):
    """When this host lost its leases, as far as its permits show: (from, to)."""
    return [(p.valid_until, min(p.lost or FOREVER, p.released or FOREVER)) for p in history.permits
            if p.host == host and p.acquired is not None and (p.lost or (p.released or 0) > p.valid_until)]


def first_come_first_served(history):
    """On one host, no task that asked while another one waited is served before that one. A permit is
    known to be given when it is noted, and not to be given while others hold every slot there is. (Its
    slot says less: a task takes one when it runs, and may run after others to which later permits were
    given.) A task whose permit is lost before it has seen it waits anew, so nothing is said of waits
    with a loss."""
    complaints = []
    begins = sorted(p.acquired for p in history.permits if p.was_valid)
    ends = sorted(p.end for p in history.permits if p.was_valid)

    def all_are_held(at):
        held = bisect.bisect_right(begins, at) - bisect.bisect_right(ends, at)
        return held >= history.most_between(at - history.settle, at)
    for host in history.hosts:
        mine = [p for p in history.permits if p.host == host and p.acquired is not None]
        lost = losses(history, host)
        waiting = sorted((p for p in mine if p.queued is not None and not any(
            begin <= p.acquired and p.queued <= end for begin, end in lost)), key=lambda p: p.queued)
        latest, i = None, 0
        for p in sorted(mine, key=lambda p: p.called):
            while i < len(waiting) and waiting[i].queued < p.called:
                if latest is None or waiting[i].acquired > latest.acquired:
                    latest = waiting[i]
                i += 1
            if latest and p.was_valid and p.acquired < latest.acquired and all_are_held(p.acquired):
                complaints.append(f"{p} asked at {p.called}, when {latest} waited since {latest.queued}, "
                                  f"and was served before it")
    return complaints


def every_wait_ends(history):
    """Every acquire has an outcome, and every permit is released; of a host that was killed all but
    the last of each task."""
    complaints = []
    for host in sorted(history.hosts - history.ended - history.killed):
        complaints.append(f"{host} did not come to its end, and nobody killed it")
    last = {}
    for p in history.permits:
        if (p.host, p.task) not in last or last[p.host, p.task].n < p.n:
            last[p.host, p.task] = p
    for p in history.permits:
        if p.host in history.killed and p is last[p.host, p.task]:
            continue
        if p.acquired is None and p.gave_up is None:
            complaints.append(f"{p} has no outcome")
        elif p.acquired is not None and p.released is None:
            complaints.append(f"{p} was never released")
    return complaints


def validity_moves_on(history):
    """valid_until of a permit never goes back."""
    return [f"valid_until of {p} went back from {a} to {b}"
            for p in history.permits for a, b in zip(p.steps, p.steps[1:]) if b < a]


def told_before(history):
    """A host that runs knows that a permit is lost before another host has the slot."""
    complaints = []
    for permits in history.by_slot().values():
        for before, after in zip(permits, permits[1:]):
            known = min(before.lost or FOREVER, before.released or FOREVER)
            if before.host != after.host and known > after.acquired and before.void is None and \
                    before.host not in history.killed | history.stopped:
                complaints.append(f"{before} was not told before {after} had the slot")
    return complaints


def resource_in_order(history):
    """The resource took no write with an older fence than one that it had taken for that slot, refused
    none for another reason, and every fence is one that the writer was granted."""
    complaints, newest = [], {}
    granted = {(p.host, p.task, p.n): (p.slot, p.fence) for p in history.permits}
    for w in history.resource:
        if granted.get((w.host, w.task, w.n)) != (w.slot, w.fence):
            complaints.append(f"{w} has a fence that was not granted")
        is_older = w.slot in newest and w.fence < newest[w.slot]
        if w.accepted and is_older:
            complaints.append(f"{w} was taken after {newest[w.slot]}")
        if not w.accepted and not is_older:
            complaints.append(f"{w} was refused, and nothing newer had been taken")
        if w.accepted:
            newest[w.slot] = max(w.fence, newest.get(w.slot, w.fence))
    return complaints


CHECKS = (at_most_the_limit, one_at_a_time, fences_rise, first_come_first_served, every_wait_ends,
          validity_moves_on, told_before, resource_in_order)


def check(history):
    return [f"{one.__name__}: {complaint}" for one in CHECKS for complaint in one(history)]


# ---- what it has seen ----

def all_at_once(history, host, limit):
    """Whether this host held every slot at one time: nothing has leaked."""
    mine = [p for p in history.permits if p.host == host and p.was_valid]
    return any({p.slot for p in mine if p.acquired <= at.acquired < p.end} == set(range(limit))
               for at in mine)


def late_writes(history):
    """Writes that reached the resource when their permit was not valid any more: how many of them it
    took, because nothing newer had come, and how many it refused."""
    ends = {(p.host, p.task, p.n): p.end for p in history.permits}
    late = [w for w in history.resource if w.at >= ends.get((w.host, w.task, w.n), FOREVER)]
    return sum(w.accepted for w in late), sum(not w.accepted for w in late)


def said(history):
    held = [p for p in history.permits if p.was_valid]
    taken, refused = late_writes(history)
    return (f"{len(held)} permits of {len({p.host for p in held})} hosts on "
            f"{len({p.slot for p in held})} slots, {sum(p.lost is not None for p in held)} lost; "
            f"{len(history.resource)} writes, late: {taken + refused}, {refused} of them refused")


def main():
    files, named, resource, words = [], {"killed": set()}, None, sys.argv[1:]
    if not words or not words[0].isdigit():
        sys.exit(__doc__)
    named["limits"] = [(0, int(words.pop(0)))]
    while words:
        word = words.pop(0)
        if word == "--resource":
            resource = words.pop(0)
        elif word == "--killed":
            named["killed"].add(words.pop(0))
        else:
            files.append(word)
    history = History.read(files, resource, **named)
    complaints = check(history)
    print(*complaints, said(history), sep="\n")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
