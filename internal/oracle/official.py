"""Imports parts of a release of the official harness that venv.sh installed.

Its packages import every module they have, and with those Docker, Hugging Face
and cloud clients. What is compared here needs none of them, so packages are
opened without running their __init__, and absent third-party modules are empty.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from pathlib import Path

OPENED = ("swebench", "swebench.harness", "swebench.harness.test_spec")
ABSENT = ("datasets", "docker", "dotenv", "requests", "tqdm")


class Nothing:
    """Stands for anything that is imported but not used."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, *_, **__):
        return Nothing()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: Nothing()
        return module

    def exec_module(self, module):
        pass


def load(release_dir):
    """Makes the modules of one release importable; one release a process."""
    sys.path.insert(0, str(release_dir))
    sys.meta_path.insert(0, Absent())
    for name in OPENED:
        folder = Path(release_dir, *name.split("."))
        if folder.is_dir():
            module = types.ModuleType(name)
            module.__path__ = [str(folder)]
            sys.modules[name] = module
    return importlib.import_module
