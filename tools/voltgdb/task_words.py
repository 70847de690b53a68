"""What the commands say of a task."""
from . import fibers, futures
from .futures import Future, seconds
from .memory import symbol_at


def fiber_of(task):
    return fibers.Fiber(task.runtime, task.address, 0)


def called(task):
    """0x7f21c40010c0 fetch_poll; of a fiber, its name or that of its function."""
    if not task.is_fiber:
        return f'{task.address:#x} {task.frame.function()}'
    fiber = fiber_of(task)
    name = f"'{fiber.name}'" if fiber.name else symbol_at(fiber.fn) or f'{fiber.fn:#x}'
    return f'{task.address:#x} fiber {name}'


def does(task):
    """What it does, since when, how often it was polled."""
    words = {'waits': 'waits', 'queued': 'is queued', 'ends': 'has returned; a wake is on its way to it'}
    worker = task.worker()
    said = f'runs on worker {worker.index}' if task.how() == 'runs' else words[task.how()]
    age = task.age_ns()
    if task.how() == 'waits' and age is not None:
        said += f' for {seconds(age)}'
    if task.polls is not None:
        said += f', poll {task.polls}'
    if task.has('is asked'):
        said += ', asked to end'
    if task.how() == 'waits' and task.registrations() == 0:
        said += ', NOTHING CAN WAKE IT: no registration is open'
    return said


def tree_of(layout, task):
    """Lines, indented."""
    if task.is_fiber:
        yield '  ' + fibers.state_of(fiber_of(task))
        if task.how() == 'waits' and task.frame.awaiting:
            yield '    ' + Future(layout, task.frame.awaiting).says(task.runtime.now_ns)
    elif task.how() == 'waits':
        yield from futures.walk(layout, task.frame, task.runtime.now_ns)
    else:
        yield f'  {task.frame.place()} {task.frame.function()}, or later'


def first_leaf(layout, task):
    """The first future that it waits for in the end; None: none."""
    if task.is_fiber or task.how() != 'waits':
        return None
    return next(futures.leaves(layout, task.frame), None)


def show(layout, task):
    print(f'task {called(task)}, {does(task)}')
    for line in tree_of(layout, task):
        print(line)
