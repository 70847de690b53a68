#!/usr/bin/env python3
"""usage: described.py

An inspector can say of each future what it waits for (src/core/inspect/describe.h). Each exported function that
returns a future (src/volt.abi) has a test `<function>_is_described` in tests/unit/*/describe*_test.c, which
also has it lose a select and be in a join that fails (described.h; those of a descriptor: io_scene.h), and
each table of operations in src/ says its operation, and describes the wait.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = re.compile(r'^static const \w*future_ops_ (\w+)(\[\])? = (.*?);\n', re.S | re.M)
# What a table says by a macro: the macro says it.
MACRO = re.compile(r'^([A-Z][A-Z_]+)\(', re.S)


def constructors(abi):
    return re.findall(r'\bvolt_future \*(volt_\w+[^_\W])\(', abi)


def tests(texts):
    named = set()
    for text in texts:
        defined = re.findall(r'\b(volt_\w+)_is_described\(void \*\*', text)
        macros = re.findall(r'^IN_A_SCENE\((volt_\w+)\)', text, re.M)
        run = set(re.findall(r'\b\w+\((volt_\w+)_is_described\)', text))
        named |= run & (set(defined) | set(macros))
    return named


def says_all(table):
    return '.operation = ' in table and '.describe = ' in table


def macro_of(name, texts):
    for text in texts:
        found = re.search(rf'#define {name}\(.*?[^\\]\n', text, re.S)
        if found:
            return found.group(0)
    return ''


def wrong_tables(path, text, texts):
    for name, is_array, table in TABLE.findall(text):
        used = MACRO.match(table.strip()) or (is_array and re.search(r'= ([A-Z][A-Z_]+)\(', table))
        said = macro_of(used.group(1), texts) if used else table
        if not says_all(said):
            yield f'{path}: {name} has no .operation, or no .describe'


def wrong(abi, sources, units):
    described = tests(units)
    names = constructors(abi)
    for name in names:
        if name not in described:
            yield f'{name}: tests/unit/*/describe*_test.c has no test {name}_is_described that is run'
    for name in sorted(described - set(names)):
        yield f'{name}: is not an exported constructor'
    for path, text in sources.items():
        yield from wrong_tables(path, text, sources.values())


def self_test(abi, sources, units):
    """What is missing is found."""
    names = constructors(abi)
    tables = sum(len(TABLE.findall(text)) for text in sources.values())
    if len(names) < 60 or tables < 35:
        yield f'{len(names)} constructors and {tables} tables: not all of them are seen'
    if not list(wrong(abi + 'volt_future *volt_new_future(volt_future *)\n', sources, units)):
        yield 'a new constructor would come in unseen'
    for part in ('.operation = ', '.describe = '):
        less = {path: text.replace(part, '.name = ') for path, text in sources.items()}
        if len(list(wrong(abi, less, units))) < tables:
            yield f'a table without {part} would come in unseen'


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    abi = (ROOT / 'src/volt.abi').read_text(encoding='utf-8')
    sources = {str(p.relative_to(ROOT)): p.read_text(encoding='utf-8')
               for p in sorted((ROOT / 'src').rglob('*.[ch]'))}
    units = [p.read_text(encoding='utf-8') for p in sorted(ROOT.glob('tests/unit/*/describe*_test.c'))]
    found = list(wrong(abi, sources, units)) + list(self_test(abi, sources, units))
    for line in found:
        print(line)
    print(f'described: {len(constructors(abi))} constructors of futures; {len(found)} not in order')
    sys.exit(1 if found else 0)


if __name__ == '__main__':
    main()
