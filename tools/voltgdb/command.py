"""What a command is, and how it reads the words behind it."""
import argparse
import shlex

import gdb

from .memory import address_of


class Parser(argparse.ArgumentParser):
    """Of the words behind a command."""

    def error(self, message):
        raise gdb.GdbError(f'{self.prog}: {message}')

    def exit(self, status=0, message=None):
        raise gdb.GdbError((message or self.format_usage()).strip())

    def words(self, argument):
        return self.parse_args(shlex.split(argument))


class Command(gdb.Command):
    """One command, whose name is `name`."""

    name = None

    def __init__(self):
        super().__init__(self.name, gdb.COMMAND_STACK)

    def parser(self):
        return Parser(prog=self.name, description=self.__doc__, add_help=False)


def object_at(text):
    """The address that an expression means: a pointer, a number, or a variable itself."""
    if not text:
        raise gdb.GdbError('which object? An address, or a variable')
    try:
        value = gdb.parse_and_eval(text)
    except gdb.error as error:
        address = address_of(text)  # of a variable without debug information
        if address is None:
            raise gdb.GdbError(f'there is no object {text}: {error}') from error
        return address
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_INT):
        return int(value.cast(gdb.lookup_type('unsigned long')))
    if value.address is None:
        raise gdb.GdbError(f'{text} is no object in memory')
    return int(value.address)
