"""The commands that are about objects: what waits for them, what holds them."""
import gdb

from . import futures, holders
from .command import Command, object_at
from .futures import Queue, seconds
from .memory import Layout
from .task_words import called, show


def of_waiter(layout, waiter, tasks, sleepers):
    """Whose it is, and what it wants. sleepers: threads that sleep, by their waiters."""
    mem = layout.memory
    ctx = mem.pointer(waiter + layout['waiter.ctx'])
    state = mem.u32(waiter + layout['waiter.state'])
    if ctx in tasks:
        who = f'task {called(tasks[ctx])}'
    elif waiter in sleepers:
        who = sleepers[waiter].called()
    else:
        thread = futures.thread_with(ctx) if ctx else None
        who = f'thread {thread.num}' if thread else f'a waker with ctx {ctx:#x}' if ctx else 'no waker'
    granted = ', granted' if state == layout['waiter is granted'] else ''
    return f'{who}, wants {mem.u32(waiter + layout["waiter.want"])}{granted}'


class Waiters(Command):
    """volt waiters OBJECT: who is queued at a mutex, a semaphore, a channel, or any other object with a
    queue of waiters; the oldest first."""

    name = 'volt waiters'

    def invoke(self, argument, from_tty):
        del from_tty
        layout = Layout()
        address = object_at(argument.strip())
        queue = Queue(layout, address)
        tasks = futures.owners_of_wakers(layout)
        sleepers = {thread.waiter: thread for thread in holders.sleeping_threads(layout)}
        print(f'{futures.name_of(layout, address)} {address:#x}: {queue.count} wait'.strip())
        for place, waiter in enumerate(queue.waiters(), 1):
            print(f'{place:>4}  {of_waiter(layout, waiter, tasks, sleepers)}')


class OwnerOf(Command):
    """volt owner OBJECT [mutex|rwlock|KIND]: what state an object is in, who holds it, who waits. Who
    holds it is known in builds with VOLT_SIGHT=1, of a mutex and of an rwlock that is locked to write.
    Its kind need be said only if nothing waits for it and its type is not known."""

    name = 'volt owner'

    def invoke(self, argument, from_tty):
        del from_tty
        layout = Layout()
        expression, _, kind = argument.strip().partition(' ')
        address = object_at(expression)
        kind = kind.strip() or kind_of_type(expression) or holders.kind_at(layout, address)
        if not kind:
            raise gdb.GdbError('what is it? Say mutex, rwlock, semaphore or channel behind it')
        print(futures.object_words(layout, kind, address))
        if kind not in holders.WITH_HOLDER or not holders.is_held(layout, kind, address):
            return
        if not holders.knows_owners(layout):
            print('  who holds it is known in builds with VOLT_SIGHT=1')
            return
        print(f'  holder: {holders.Owner(layout, kind, address).says(holders.now_ns(layout))}')


def kind_of_type(expression):
    """'mutex' of a volt_mutex; None: its type is not known, or another."""
    try:
        kind = gdb.parse_and_eval(expression).type.strip_typedefs()
    except gdb.error:
        return None
    if kind.code == gdb.TYPE_CODE_PTR:
        kind = kind.target()
    return futures.KINDS.get(kind.name or '')


class Deadlock(Command):
    """volt deadlock: the tasks and threads that cannot go on, because what they wait for is held by, or
    is, one of them. Needs a build with VOLT_SIGHT=1 to know holders; joins and groups it knows in
    every build."""

    name = 'volt deadlock'

    def invoke(self, argument, from_tty):
        del argument, from_tty
        layout = Layout()
        graph = holders.Graph(layout)
        stuck = graph.stuck()
        now_ns = holders.now_ns(layout)
        for party in stuck:
            if party in graph.tasks:
                show(layout, graph.tasks[party])
            else:
                print(f'{graph.threads[party].called()} sleeps in {graph.threads[party].says()}')
            for kind, address in objects_of(graph, party):
                name = futures.name_of(layout, address) or f'{address:#x}'
                print(f'    {name} is held by {holders.Owner(layout, kind, address).says(now_ns)}')
        print(f'{len(stuck)} cannot go on' if stuck else 'nothing is known to be unable to go on')
        if not holders.knows_owners(layout):
            print('who holds a lock is known in builds with VOLT_SIGHT=1')


def objects_of(graph, party):
    """(kind, address) of the locks that it waits for."""
    if party in graph.threads:
        found = [graph.threads[party]]
    else:
        found = list(futures.leaves(graph.layout, graph.tasks[party].frame))
    for wait in found:
        kind = futures.KINDS.get(wait.kind, wait.kind)
        if kind in holders.WITH_HOLDER and holders.knows_owners(graph.layout):
            yield kind, wait.object


class Threads(Command):
    """volt threads: the threads that sleep in a call of volt, and for what."""

    name = 'volt threads'

    def invoke(self, argument, from_tty):
        del argument, from_tty
        layout = Layout()
        found = list(holders.sleeping_threads(layout))
        now_ns = holders.now_ns(layout)
        for sleeper in found:
            print(f'{sleeper.called()} sleeps for {seconds(max(now_ns - sleeper.since_ns, 1))} in {sleeper.says()}')
        print(f'{len(found)} threads sleep in calls')
