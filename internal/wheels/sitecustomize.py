# Written by rye. Python imports this file at its start. It puts the packages of the tool
# behind the standard library, so that no package replaces a module of Python, and before
# the packages of the machine, which have other versions than rye.lock.
import os
import site
import sys


def _add():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
    machine = set(site.getsitepackages())
    i = 0
    while i < len(sys.path) and sys.path[i] not in machine:
        i += 1
    sys.path.insert(i, os.path.join(os.path.dirname(here), "packages"))


_add()
