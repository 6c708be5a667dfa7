"""The servers in examples/: how to build and start each, where its toolchain is installed."""

import os
import shutil
import subprocess
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from .paths import ROOT

EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Server:
    """A server in examples/, the commands that build it, and the command that starts it."""

    language: str
    tools: tuple[str, ...]  # the programs that it needs
    build: tuple[str, ...]  # $OUT stands for the folder of what is built
    start: str
    wrong: str  # the operation that is wrong on purpose
    deviation: str  # the name of its bug in the catalogue

    @property
    def missing_tools(self) -> list[str]:
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def skip_without_tools(self) -> None:
        """Skip the test if a tool is missing."""
        if self.missing_tools:
            pytest.skip(f"{self.missing_tools[0]} is not installed")

    def command(self, folder: Path) -> str:
        """Build the server in this folder, and return the command that starts it."""
        if self.build:
            words = [word.replace("$OUT", str(folder)) for word in self.build]
            environment = {**os.environ, "GOCACHE": str(folder / "cache"), "GOFLAGS": "-mod=mod"}
            subprocess.run(words, cwd=EXAMPLES / self.language, check=True, env=environment, timeout=300)
        if self.language == "python":
            venv.create(folder, with_pip=False)  # another environment: it has no NumPy
        return self.start.replace("$OUT", str(folder)).replace("$HERE", str(EXAMPLES / self.language))


NO_MAXIMUM = "logsumexp/no-maximum-subtracted"
EPS_OUTSIDE = "layer_norm/eps-outside-sqrt"
SERVERS = (
    Server("c", ("cc",), ("cc", "-O2", "student.c", "-o", "$OUT/server", "-lm"), "$OUT/server", "layer_norm", EPS_OUTSIDE),
    Server("cpp", ("c++",), ("c++", "-O2", "-std=c++17", "student.cpp", "-o", "$OUT/server"), "$OUT/server", "layer_norm",
           EPS_OUTSIDE),
    Server("rust", ("rustc",), ("rustc", "--edition", "2021", "-O", "student.rs", "-o", "$OUT/server"), "$OUT/server",
           "layer_norm", EPS_OUTSIDE),
    Server("go", ("go",), ("go", "build", "-o", "$OUT/server", "main.go", "spec_server.go"), "$OUT/server", "logsumexp",
           NO_MAXIMUM),
    Server("javascript", ("node",), (), "node $HERE/student.js", "logsumexp", NO_MAXIMUM),
    Server("java", ("java", "javac"), ("javac", "-d", "$OUT", "Server.java"), "java -cp $OUT Server", "logsumexp", NO_MAXIMUM),
    Server("python", (), (), "$OUT/bin/python $HERE/server.py", "logsumexp", NO_MAXIMUM),
)  # fmt: skip
