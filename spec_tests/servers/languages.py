"""The languages in which a server is written, each with its template and with how a function is written in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Language:
    """How a server is written in one language. The folder of its name in templates/ has its files."""

    name: str
    file: str  # with the functions
    comment: str  # before each line of a comment
    function: str  # $name stands for the operation, $comment for the comment
    entry: str  # of the table of functions, in which $name stands for the operation
    build: str  # a line of a shell, "" if there is nothing to build
    start: str
    tools: tuple[str, ...]  # the programs that it needs
    joint: str = "\n"  # between the entries
    quotes: bool = False  # whether each line of the description is a literal of its own, as in C

    def write_description(self, text: str) -> str:
        """Return the description as it stands in the source."""
        return "\n".join(json.dumps(line) for line in text.splitlines()) if self.quotes else text


C = Language(
    "c", "server.c", "// ",
    "$comment\nstatic spec_answer $name(const spec_message *in, spec_message *out) {\n"
    '  (void)in, (void)out;\n  return NOT_IMPLEMENTED("$name is not written yet");\n}',
    '  {"$name", $name},', "cc -O2 server.c -o server -lm", "./server", ("cc",), quotes=True,
)  # fmt: skip
CPP = Language(
    "cpp", "server.cpp", "// ",
    '$comment\nArrays $name(Message &m) {\n  throw NotImplemented("$name is not written yet");\n}',
    '                 {"$name", $name},', "c++ -O2 -std=c++17 server.cpp -o server", "./server", ("c++",),
)  # fmt: skip
RUST = Language(
    "rust", "server.rs", "// ",
    '$comment\nfn $name(message: &Message) -> Result<Answer, String> {\n    Err("$name is not written yet".into())\n}',
    '        "$name" => $name(message),', "rustc --edition 2021 -O server.rs", "./server", ("rustc",),
)  # fmt: skip
GO = Language(
    "go", "server.go", "// ",
    "$comment\nfunc $name(arrays Arrays, keywords map[string]string) (Arrays, error) {\n"
    '\treturn nil, NotImplemented("$name is not written yet")\n}',
    '\t\t"$name": $name,', "go build -o server server.go spec_server.go", "./server", ("go",),
)  # fmt: skip
JAVASCRIPT = Language(
    "javascript", "server.js", "  // ",
    "$comment\n  $name(arrays, keywords) {\n    throw new NotImplemented('$name is not written yet');\n  },",
    "", "", "node server.js", ("node",),
)  # fmt: skip
JAVA = Language(
    "java", "Server.java", "    // ",
    "$comment\n    static Map<String, Array> $name(Map<String, Array> arrays, Map<String, String> keywords) {\n"
    '        throw new NotImplemented("$name is not written yet");\n    }',
    '            Map.entry("$name", Server::$name)', "javac Server.java", "java Server", ("java", "javac"), joint=",\n",
)  # fmt: skip
PYTHON = Language(
    "python", "server.py", "# ",
    '$comment\ndef $name(arrays, keywords):\n    raise NotImplementedError("$name is not written yet")',
    '    "$name": $name,', "", "python server.py", (),
)  # fmt: skip
LANGUAGES: Mapping[str, Language] = MappingProxyType({x.name: x for x in (C, CPP, RUST, GO, JAVASCRIPT, JAVA, PYTHON)})
