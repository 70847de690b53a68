"""The commands: volt_gdb.py lists them."""
import collections

import gdb

from . import fibers, futures
from .command import Command, object_at
from .futures import Future, seconds
from .memory import Layout
from .object_commands import Deadlock, OwnerOf, Threads, Waiters
from .runtimes import Task, all_tasks, runtimes, runtimes_or_say, task_at
from .task_words import called, does, fiber_of, first_leaf, show

OLDEST = 10  # of each group, unless each is asked for


# ---- tasks ----

class Volt(gdb.Command):
    """Tasks, fibers, workers and objects of programs with volt."""

    def __init__(self):
        super().__init__('volt', gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class Tasks(Command):
    """volt tasks [--older SECONDS] [--on OBJECT] [--each]: which tasks wait where, and since when.
    Those that wait at the same place for the same object are one group. --each: every task with all
    that it awaits."""

    name = 'volt tasks'

    def invoke(self, argument, from_tty):
        del from_tty
        parser = self.parser()
        parser.add_argument('--older', type=float, default=0, metavar='SECONDS')
        parser.add_argument('--on', metavar='OBJECT')
        parser.add_argument('--each', action='store_true')
        asked = parser.words(argument)
        layout = Layout()
        for runtime in runtimes_or_say(layout):
            count = sum(1 for _ in runtime.tasks())
            print(f"runtime {runtime.address:#x} '{runtime.name()}': {runtime.workers} workers, {count} tasks")
        tasks = [task for task in all_tasks(layout) if self.is_wanted(layout, task, asked)]
        if asked.each:
            for task in tasks:
                show(layout, task)
        else:
            self.show_groups(layout, tasks)
        print(f'{len(tasks)} tasks')

    @staticmethod
    def is_wanted(layout, task, asked):
        age = task.age_ns()
        if asked.older and age is None:
            raise gdb.GdbError('this program does not say since when its tasks wait')
        if asked.older and age < asked.older * 1e9:
            return False
        if asked.on is None:
            return True
        address = object_at(asked.on)
        if task.how() != 'waits':
            return False
        return any(leaf.object == address for leaf in futures.leaves(layout, task.frame))

    @staticmethod
    def show_groups(layout, tasks):
        groups = collections.defaultdict(list)
        for task in tasks:
            groups[group_of(layout, task)].append(task)
        for (how, where), found in sorted(groups.items(), key=lambda group: -len(group[1])):
            noun = 'fiber' if found[0].is_fiber else 'task'
            singular, plural = VERBS[how]
            print(f'1 {noun} {singular} {where}' if len(found) == 1 else f'{len(found)} {noun}s {plural} {where}')
            found.sort(key=lambda task: -(task.age_ns() or 0))
            for task in found[:OLDEST]:
                print(f'  {called(task)} {does(task)}')
            if len(found) > OLDEST:
                print(f'  and {len(found) - OLDEST} more')


VERBS = {'waits': ('waits', 'wait'), 'runs': ('runs', 'run'), 'queued': ('is queued', 'are queued'),
         'ends': ('has returned', 'have returned')}


def group_of(layout, task):
    """What it has in common with others of its group."""
    how = task.how()
    if task.is_fiber:
        state = fibers.state_of(fiber_of(task))
        return how, state.removeprefix('waits ') if how == 'waits' else ''
    leaf = first_leaf(layout, task)
    waits = f': {leaf.says(task.runtime.now_ns, with_place=False)}' if leaf else ''
    return how, f'{task.frame.standing()} {task.frame.function()}{waits}'


class OneTask(Command):
    """volt task T: what one task waits for. T is an address, the name of its function, or a fiber's name,
    if no other task has the same."""

    name = 'volt task'

    def invoke(self, argument, from_tty):
        del from_tty
        layout = Layout()
        show(layout, task_at(layout, argument.strip()))


class Backtrace(Command):
    """volt bt T: the frames of a task, the innermost first: of a fiber, its stack; else its functions
    with BEGIN and END."""

    name = 'volt bt'

    def invoke(self, argument, from_tty):
        layout = Layout()
        task = task_at(layout, argument.strip())
        if task.is_fiber:
            fibers.show_stack(fiber_of(task), 'bt', from_tty)
            return
        now_ns = task.runtime.now_ns
        frames, at = [], task.frame
        while at and len(frames) < futures.DEPTH:
            frames += [f'{function or "a coroutine"} at {place}' for place, function in at.trail] or [
                f'{at.function()} {at.standing()}']
            future = Future(layout, at.awaiting) if at.awaiting and task.how() == 'waits' else None
            at = future.frame() if future else None
        if future:
            frames.append(future.says(now_ns))
        for number, line in enumerate(reversed(frames)):
            print(f'#{number:<3} {line}')
            if number == 0 and future:
                for below in futures.walk_inside(layout, future, now_ns, 3):
                    print(below)


# ---- workers, timers ----

def thread_of(worker):
    """Of gdb; None: not known, as of a runtime that is run by hand."""
    tid = worker.layout.memory.u32(worker.at('tid'))
    return next((thread for thread in gdb.selected_inferior().threads() if thread.ptid[1] == tid), None)


class Workers(Command):
    """volt workers: what each worker does."""

    name = 'volt workers'

    def invoke(self, argument, from_tty):
        del argument, from_tty
        layout = Layout()
        for runtime in runtimes_or_say(layout):
            tasks = {address: Task(runtime, address) for address in runtime.tasks()}
            print(f"runtime {runtime.address:#x} '{runtime.name()}': {len(tasks)} tasks, "
                  f'{runtime.u64("rt.injected")} queued for any worker, '
                  f'{runtime.u64("rt.blocking.running")} calls on the blocking pool')
            for index in range(runtime.workers):
                self.show(runtime.worker(index), tasks)

    @staticmethod
    def show(worker, tasks):
        thread = thread_of(worker)
        on = f' (thread {thread.num}, LWP {thread.ptid[1]})' if thread else ''
        running = tasks.get(worker.running())
        if worker.is_parked():
            said = 'sleeps'
        elif running and running.has('is active'):
            at = '' if running.is_fiber else f' ({running.frame.place()} or later)'
            said = f'runs {called(running)}{at}'
        else:
            said = 'looks for work'
        behind = len(worker.queued())
        print(f'  worker {worker.index}{on}: {said}, {behind} tasks behind it, {worker.u64("polls")} polls')


class Timers(Command):
    """volt timers: what is due when, the earliest first."""

    name = 'volt timers'

    def invoke(self, argument, from_tty):
        del argument, from_tty
        layout = Layout()
        tasks = futures.owners_of_wakers(layout)
        for runtime in runtimes_or_say(layout):
            found, now_ns = runtime.timers(), runtime.now_ns
            print(f"runtime {runtime.address:#x} '{runtime.name()}': {len(found)} timers")
            for deadline, waiter in found[:1000]:
                due = f'in {seconds(deadline - now_ns)}' if deadline > now_ns else f'{seconds(now_ns - deadline)} ago'
                if deadline == (1 << 64) - 1:
                    due = 'never'
                ctx = layout.memory.pointer(waiter + layout['waiter.ctx'])
                who = f'task {called(tasks[ctx])}' if ctx in tasks else f'a waker with ctx {ctx:#x}'
                print(f'  {due:>12}  {who}')


# ---- fibers ----

class Fibers(Command):
    """volt fibers: list the fibers of all runtimes, and what they wait in."""

    name = 'volt fibers'

    def invoke(self, argument, from_tty):
        del argument, from_tty
        layout = Layout()
        runtimes_or_say(layout)
        found = fibers.fibers(layout)
        for fiber in found:
            name = f"'{fiber.name}'" if fiber.name else hex(fiber.address)
            home = f'{fiber.runtime.name()}-w{fiber.home - 1}' if fiber.home else 'any worker'
            print(f'{fiber.number:>4}  {name:<20} {home:<12} {fibers.state_of(fiber)}')
        print(f'{len(found)} fibers')


class OneFiber(Command):
    """volt fiber N|all [COMMAND]: call COMMAND, or bt, as if that fiber ran."""

    name = 'volt fiber'

    def invoke(self, argument, from_tty):
        which, _, command = argument.strip().partition(' ')
        if not which:
            raise gdb.GdbError('which fiber? volt fibers lists them')
        found = fibers.fibers(Layout()) if which == 'all' else [fibers.fiber_named(which)]
        for fiber in found:
            fibers.show_stack(fiber, command or 'bt', from_tty)


class Enter(Command):
    """volt enter N: until volt leave, that fiber is what bt, up, frame and info locals show."""

    name = 'volt enter'

    def invoke(self, argument, from_tty):
        del from_tty
        fibers.enter(fibers.fiber_named(argument.strip()))


class Leave(Command):
    """volt leave: what is shown is the thread again."""

    name = 'volt leave'

    def invoke(self, argument, from_tty):
        del argument, from_tty
        fibers.UNWINDER.set(None)


def protected(command):
    """A command that reads memory which is not there says so, and where."""
    invoke = command.invoke

    def invoke_it(self, argument, from_tty):
        try:
            invoke(self, argument, from_tty)
        except gdb.MemoryError as error:
            raise gdb.GdbError(f'{self.name}: {error}') from error

    command.invoke = invoke_it
    return command


def register():
    Volt()
    for command in (Tasks, OneTask, Backtrace, Waiters, OwnerOf, Deadlock, Threads, Workers, Timers, Fibers, OneFiber, Enter, Leave):
        protected(command)()
