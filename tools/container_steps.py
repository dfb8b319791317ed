"""Run the steps of deploy/Containerfile as a script in an empty folder, without a container.

    python tools/container_steps.py FOLDER [--installed SITE_PACKAGES]

The folder stands for the root of the file system, and is where both stages work. With
``--installed``, the locked packages are not fetched: those of another environment stand in for
them, at the versions that it has. Prints how to start the service, as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
_PATH = re.compile(r"(?<![\w.:/])/(srv|src|data)\b")
"""The absolute paths that the file uses."""


_IGNORED = shutil.ignore_patterns("tests", "__pycache__")  # as .dockerignore says


def read_steps(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a container file with their arguments."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.M))
    for line in filter(None, map(str.strip, joined.splitlines())):
        instruction, _, arguments = line.partition(" ")
        yield instruction, arguments.strip()


class Steps:
    """The state of a build: the folder, the working directory and the environment."""

    def __init__(self, folder: Path, installed: Path | None) -> None:
        self.folder, self.installed = folder, installed
        self.directory = folder
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        self.environment |= {
            name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))
        }
        self.start: dict[str, list[str]] = {}

    def run(self, instruction: str, arguments: str) -> None:
        """Run one instruction. Raises SystemExit for one that fails or is not known."""
        match instruction:
            case "RUN" if "--require-hashes" in arguments and self.installed:
                self._stand_in(self.installed)
            case "RUN":
                self._shell(self._here(arguments))
            case "WORKDIR":
                self.directory = Path(self._here(arguments))
                self.directory.mkdir(parents=True, exist_ok=True)
            case "COPY":
                self._copy(arguments)
            case "ENV":
                for name, _, value in (each.partition("=") for each in shlex.split(arguments)):
                    given = self._here(value).replace("$PATH", self.environment["PATH"])
                    self.environment[name] = given
            case "ENTRYPOINT" | "CMD":
                self.start[instruction] = json.loads(arguments)
            case "HEALTHCHECK":
                self.start[instruction] = json.loads(arguments.partition("CMD ")[2])
            case "FROM" | "USER" | "VOLUME" | "EXPOSE":
                pass
            case _:
                raise SystemExit(f"{CONTAINERFILE}: {instruction} is not known here")

    def _here(self, text: str) -> str:
        return _PATH.sub(lambda match: f"{self.folder}/{match[1]}", text)

    def _shell(self, command: str) -> None:
        python = f"exec {shlex.quote(sys.executable)}"
        # The image has one Python; here it is the one that runs this.
        shim = self.folder / "bin"
        if not shim.exists():
            shim.mkdir()
            (shim / "python").write_text(f'#!/bin/sh\n{python} "$@"\n')
            (shim / "python").chmod(0o755)
        environment = {**self.environment, "PATH": f"{shim}:{self.environment['PATH']}"}
        command_line = ["sh", "-ec", command]
        ran = subprocess.run(command_line, cwd=self.directory, env=environment, stdout=sys.stderr)
        if ran.returncode:
            raise SystemExit(f"{CONTAINERFILE}: exit {ran.returncode} from RUN {command}")

    def _stand_in(self, installed: Path) -> None:
        """Have the new environment see the packages of another one."""
        [packages] = (self.folder / "srv" / "theanine").glob("lib/python*/site-packages")
        (packages / "installed.pth").write_text(f"{installed}\n")
        builder = "bin/uv-build"  # which its Python package looks for beside itself
        (packages.parents[2] / builder).symlink_to(installed.parents[2] / builder)
        self.environment["PIP_NO_INDEX"] = "1"

    def _copy(self, arguments: str) -> None:
        words = shlex.split(arguments)
        if any(word.startswith("--from=") for word in words):
            return  # both stages work in one folder
        *sources, destination = [word for word in words if not word.startswith("--")]
        for source in sources:
            target = self.directory / destination
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, target, ignore=_IGNORED)
            else:
                shutil.copy(ROOT / source, target)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--installed", type=Path, metavar="SITE_PACKAGES")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if any(options.folder.iterdir()):
        raise SystemExit(f"{options.folder} is not empty")
    steps = Steps(options.folder.resolve(), options.installed)
    for instruction, arguments in read_steps(CONTAINERFILE.read_text("utf-8")):
        steps.run(instruction, arguments)
    print(json.dumps({**steps.start, "environment": steps.environment}))


if __name__ == "__main__":
    main()
