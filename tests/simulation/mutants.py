#!/usr/bin/env python3
"""The mutants that the simulation has to reject, as tests/model/mutants.py does for the models.

  mutants.py check                    whether every mutant applies; prints how many there are
  mutants.py run BUILD WORK [NAME]... build each mutant (or those named) below WORK and run it on the seeds
                                      that it names, until one fails. Exit code 0: all were rejected

BUILD is a build directory of CMake with Ninja in which cluster_simulation is built: the sources that a
mutant changes are compiled as they are there, and put before the library. The files *.mutants here have
the form of those of the models. `killed by simulation options --seeds 100` says how many seeds it has
to be rejected within, from 1 on, or with --seed the one that rejects it; "quick" means nothing."""
import concurrent.futures
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = "tests/simulation"
PROGRAM = "cluster_simulation"


def load_form():
    """tests/model/mutants.py: how mutants are written, and applied."""
    spec = importlib.util.spec_from_file_location("model_mutants", ROOT / "tests/model/mutants.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


form = load_form()


def command_check():
    mutants, wrong = form.read_mutants(ROOT, HERE)
    sources = form.Sources(ROOT)
    for mutant in mutants.values():
        if mutant.killer != "simulation":
            wrong.append(f"{mutant.name}: not killed by the simulation")
        if any(not change.path.endswith(".c") for change in mutant.changes):
            wrong.append(f"{mutant.name}: changes what is no source")
        try:
            if not mutant.apply(sources):
                raise form.Broken("changes nothing")
        except form.Broken as broken:
            wrong.append(f"{mutant.name}: {broken}")
    if not mutants:
        wrong.append("there are no mutants")
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(mutants)} mutants for the simulation: {len(wrong)} things wrong")
    return 1 if wrong else 0


# ---- run ----


def commands_of(build):
    """How the program's objects are compiled and linked: a list of arguments by source, and one."""
    made = subprocess.run(["ninja", "-C", build, "-t", "commands", PROGRAM], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    compile_by, link = {}, None
    for line in made.splitlines():
        if found := re.search(r" -c (\S+\.c)(?: |$)", line):
            compile_by.setdefault(os.path.relpath(found.group(1), ROOT), shlex.split(line))
        elif re.search(rf" -o \S*{PROGRAM} ", line):
            link = [word for word in shlex.split(line) if word not in (":", "&&")]
    if not link:
        raise form.Broken(f"{PROGRAM} is not linked in {build}")
    return compile_by, link


def with_output(command, source, target, dependencies=True):
    """The same command for another source and target."""
    changed, skip = [], False
    for before, word in zip([""] + command, command):
        if skip or word in ("-MD",) or (dependencies and word in ("-MT", "-MF")):
            skip = word in ("-MT", "-MF")
            continue
        changed.append(source if before == "-c" else target if before == "-o" else word)
    return changed


def build_mutant(mutant, build, work, commands):
    """Returns the program."""
    compile_by, link = commands
    objects = []
    for path, text in mutant.apply(form.Sources(ROOT)).items():
        if path not in compile_by:
            raise form.Broken(f"{path} is not compiled for {PROGRAM}")
        source = work / path
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(text)
        target = source.with_suffix(".o")
        command = with_output(compile_by[path], str(source), str(target))
        include = f"-I{(ROOT / path).parent}"  # its own headers
        if subprocess.run([*command, include, "-w", "-Wno-error"], cwd=build).returncode != 0:
            raise form.Broken(f"{path} does not compile")
        objects.append(str(target))
    at = next(i for i, word in enumerate(link) if word.endswith(".o"))
    program = work / PROGRAM
    command = with_output(link[:at] + objects + link[at:], "", str(program), False)
    if subprocess.run(command, cwd=build).returncode != 0:
        raise form.Broken("does not link")
    return program


def run_mutant(mutant, build, work, commands):
    """Returns whether it was rejected, and what to print."""
    try:
        program = build_mutant(mutant, build, work, commands)
    except form.Broken as broken:
        return False, f"broken: {mutant.name}: {broken}"
    try:
        ran = subprocess.run([program, *mutant.options], stdout=subprocess.PIPE, timeout=200,
                             stderr=subprocess.STDOUT, text=True, env={**os.environ, "VOLT_TEST_SEED": "1"})
    except subprocess.TimeoutExpired:
        return False, f"SURVIVED: {mutant.name}: 200 seconds"
    said = next((line for line in ran.stdout.splitlines() if line), "")
    if ran.returncode != 0:
        return True, f"rejected: {mutant.name}: {said}"
    return False, f"SURVIVED: {mutant.name}: {said}"


def command_run(build, work, *names):
    mutants, wrong = form.read_mutants(ROOT, HERE)
    build, work = Path(build).resolve(), Path(work).resolve()
    if unknown := set(names) - set(mutants):
        wrong.append(f"there is no mutant {unknown}")
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 2
    wanted = [mutant for name, mutant in mutants.items() if not names or name in names]
    commands = commands_of(build)
    rejected = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(run_mutant, mutant, build, work / mutant.name, commands)
                for mutant in wanted]
        for run in runs:
            is_rejected, text = run.result()
            rejected += is_rejected
            print(text, flush=True)
    print(f"{len(wanted)} mutants, {rejected} rejected")
    return 0 if rejected == len(wanted) else 1


COMMANDS = {"check": (command_check, 0, 0), "run": (command_run, 2, 999)}


def main(arguments):
    command, least, most = COMMANDS.get(arguments[0] if arguments else "", (None, 0, 0))
    if not command or not least <= len(arguments) - 1 <= most:
        print(__doc__, file=sys.stderr)
        return 2
    return command(*arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
