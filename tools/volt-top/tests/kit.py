"""kit.py: a scene to look at, and volt-top, for the tests beside it."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP, SCENE = sys.argv[1:3]
LIMIT = 60  # seconds: until a test says that nothing comes


def lines_of_source(word):
    """The line of sight_scene.c that has this."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sight_scene.c")
    found = [n for n, line in enumerate(open(source), 1) if word in line]
    assert len(found) == 1, (word, found)
    return found[0]


def knows_holders():
    """Whether the scenes are of a build with VOLT_SIGHT=1."""
    return "volt_sight_build_1" in subprocess.run(["nm", SCENE], capture_output=True, text=True, check=True).stdout


class Scene:
    """The program in one of its ways, ready; in a runtime directory of its own."""

    def __init__(self, *how, program=SCENE):
        self.directory = tempfile.mkdtemp(prefix="volt-top.")
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": self.directory, "TERM": "xterm"}
        self.process = subprocess.Popen([program, *how], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=self.environment, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        shutil.rmtree(self.directory)

    def stop(self):
        """Stop it, and return when each of its threads has: one that runs goes on for a moment."""
        os.kill(self.pid, signal.SIGSTOP)
        for stat in glob.glob(f"/proc/{self.pid}/task/*/stat"):
            while open(stat).read().rsplit(")", 1)[1].split()[0] not in "Tt":
                time.sleep(0.001)

    def top(self, *arguments, code=0):
        """What volt-top prints; on standard error if it must fail."""
        done = subprocess.run([TOP, *arguments], env=self.environment, capture_output=True, timeout=LIMIT)
        assert done.returncode == code, (arguments, done)
        text = done.stdout if code == 0 else done.stderr
        assert re.fullmatch(rb"[\n\x20-\x7e]*", text), text
        return text.decode()


def expect(text, *patterns):
    """A line for each of these, in this order."""
    lines = iter(text.splitlines())
    for pattern in patterns:
        if not any(re.search(pattern, line) for line in lines):
            sys.exit(f"no line /{pattern}/ (in this order) in:\n{text}")


def run(*tests):
    for test in tests:
        test()
        print(test.__name__.replace("_", " "))
