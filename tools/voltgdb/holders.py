"""Who holds an object, the threads that sleep in a call of volt, and which wait for each other.

Nothing moves while gdb looks, so one look is exact. What it does not know may go on: a wait that an
unknown party may end is in no circle.
"""
import gdb

from . import futures
from .futures import CLOSED, KINDS, QUEUED, Future, Queue, seconds
from .runtimes import all_tasks, now_of
from .task_words import called

WITH_HOLDER = {'mutex': 'mutex.holder', 'rwlock': 'rwlock.holder'}
MOST_THREADS = 100_000


class Blocked:
    """A thread that sleeps in a call, by its slot (src/core/inspect/sleepers.h)."""

    def __init__(self, layout, slot):
        mem = layout.memory
        self.layout, self.slot = layout, slot
        self.tid = mem.u32(slot + layout['slot.tid'])
        self.number = mem.u32(slot + layout['slot.number'])

        def at(member):
            return slot + layout['slot.words'] + layout['sleeper.' + member]

        self.call = mem.text(mem.pointer(at('call'))) or 'a call'
        self.operation = mem.text(mem.pointer(at('operation'))) or self.call
        self.kind = layout.kinds.get(mem.u32(at('kind')), '')
        self.object = mem.pointer(at('object'))
        self.future = mem.pointer(at('future'))
        self.waiter = mem.pointer(at('waiter'))
        self.deadline_ns = mem.u64(at('deadline_ns'))
        self.since_ns = mem.u64(at('since_ns'))
        self.wanted = mem.u32(at('wanted'))

    def thread(self):
        """Of gdb; None: not known."""
        return next((t for t in gdb.selected_inferior().threads() if t.ptid[1] == self.tid), None)

    def called(self):
        thread = self.thread()
        return f'thread {thread.num} (LWP {self.tid})' if thread else f'LWP {self.tid}'

    def says(self):
        said = f'{self.operation} of {futures.object_words(self.layout, self.kind, self.object)}'.removesuffix(' of ')
        return said + (', with a deadline' if self.deadline_ns != (1 << 64) - 1 else '')


def sleeping_threads(layout):
    mem = layout.memory
    slot = mem.pointer(layout.sleepers + layout['sleeper.head']) if layout.sleepers else 0
    for _ in range(MOST_THREADS):
        if not slot:
            return
        if mem.u32(slot + layout['slot.wait']) & 1:
            yield Blocked(layout, slot)
        slot = mem.pointer(slot + layout['slot.next'])


class Owner:
    """What an object knows of who has it, in builds with VOLT_SIGHT=1."""

    def __init__(self, layout, kind, address):
        mem, self.layout = layout.memory, layout
        at = address + layout[WITH_HOLDER[kind]]
        who = mem.pointer(at + layout['holder.who'])
        self.how, self.party = who & 3, who & ~3
        file = mem.text(mem.pointer(at + layout['holder.file']))
        line = mem.u32(at + layout['holder.line'])
        self.place = f'{file.rsplit("/", 1)[-1]}:{line}' if file else ''
        self.since = mem.u32(at + layout['holder.since'])

    def is_(self, what):
        return self.how == self.layout['who is ' + what]

    def number(self):
        """Of a thread."""
        return self.party >> 2

    def says(self, now_ns):
        if self.how == 0:
            return 'not known'
        if self.is_('a task'):
            task = next((t for t in all_tasks(self.layout) if t.address == self.party), None)
            said = f'task {called(task)}' if task else f'task {self.party:#x}'
        elif self.is_('a thread'):
            slept = next((b for b in sleeping_threads(self.layout) if b.number == self.number()), None)
            said = slept.called() if slept else f'the thread with number {self.number()}, which does not sleep in a call'
        else:
            return f'granted to the waiter with ctx {self.party:#x}, which has not seen it'
        age = ((now_ns >> 20) - self.since & 0xffffffff) << 20 if self.since else None
        since = f' for {seconds(age)}' if age is not None and age >> 51 == 0 else ''
        return said + since + (f', taken at {self.place}' if self.place else '')


def knows_owners(layout):
    return layout.has('holder.who')


def now_ns(layout):
    return now_of(layout, (sleeper.since_ns for sleeper in sleeping_threads(layout)))


def kind_at(layout, address):
    """Of an object, by what waits for it; '': nothing does."""
    for task in all_tasks(layout):
        if task.how() == 'waits':
            for leaf in futures.leaves(layout, task.frame):
                if leaf.object == address and leaf.kind:
                    return KINDS.get(leaf.kind, leaf.kind)
    return next((KINDS.get(b.kind, b.kind) for b in sleeping_threads(layout) if b.object == address), '')


def is_held(layout, kind, address):
    """By one party alone: a mutex, or an rwlock for writing."""
    word = Queue(layout, address).word & ~CLOSED
    value = word >> 32
    return bool(word & QUEUED) or (value != 0 if kind == 'mutex' else value == futures.WRITER)


# ---- circles ----

class Graph:
    """What each party waits for: a task by its address, a thread by ('thread', its number)."""

    def __init__(self, layout):
        self.layout = layout
        self.tasks = {task.address: task for task in all_tasks(layout)}
        self.threads = {('thread', b.number): b for b in sleeping_threads(layout)}

    def parties(self):
        return list(self.tasks) + list(self.threads)

    def goes_on(self, party, going):
        """Whether it may go on if those in `going` do."""
        if party in self.threads:
            return self.thread_goes_on(self.threads[party], going)
        task = self.tasks.get(party)
        if task is None or task.how() != 'waits' or not task.frame.awaiting:
            return True
        return self.future_goes_on(Future(self.layout, task.frame.awaiting), going)

    def future_goes_on(self, future, going):
        if not future.is_waiting() or future.is_granted():
            return True
        inner = future.frame()
        if inner:
            return not inner.awaiting or self.future_goes_on(Future(self.layout, inner.awaiting), going)
        if future.operation == 'volt_timeout':
            return True  # the clock ends it
        branches = [self.future_goes_on(below, going) for below in future.inside()]
        if branches:
            return all(branches) if future.operation == 'volt_join' else any(branches)
        return self.object_goes_on(future.operation, future.kind, future.object, going)

    def thread_goes_on(self, sleeper, going):
        if sleeper.deadline_ns != (1 << 64) - 1:
            return True
        if sleeper.future:
            return self.future_goes_on(Future(self.layout, sleeper.future), going)
        return self.object_goes_on(sleeper.operation, sleeper.kind, sleeper.object, going)

    def object_goes_on(self, operation, kind, address, going):
        wanted = self.awaited(operation, kind, address)
        return wanted is None or all(party in going for party in wanted)

    def awaited(self, operation, kind, address):
        """The parties all of which have to go on before this wait ends; None: not known."""
        kind = KINDS.get(kind, kind)
        if operation == 'volt_task_join':
            return [address] if address in self.tasks else None
        if kind == 'group':
            return self.of_group(address)
        if kind not in WITH_HOLDER or not knows_owners(self.layout) or not is_held(self.layout, kind, address):
            return None
        owner = Owner(self.layout, kind, address)
        if owner.is_('a task'):
            return [owner.party] if owner.party in self.tasks else None
        if owner.is_('a thread'):
            return [('thread', owner.number())] if ('thread', owner.number()) in self.threads else None
        return None

    def of_group(self, address):
        """Its tasks: it is waited for until all have ended."""
        layout, mem, found = self.layout, self.layout.memory, []
        for which in ('group.running', 'group.cancelled'):
            head = address + layout[which]
            link = mem.pointer(head + layout['link.next'])
            while link not in (head, 0) and len(found) < len(self.tasks):
                found.append(link - layout['task.sibling'])
                link = mem.pointer(link + layout['link.next'])
        return found if found and all(task in self.tasks for task in found) else None

    def stuck(self):
        """The parties that cannot go on whatever happens: what is not in the least fixpoint."""
        going, left = set(), set(self.parties())
        while True:
            more = {party for party in left if self.goes_on(party, going)}
            if not more:
                return [party for party in self.parties() if party in left]
            going |= more
            left -= more

