"""Write a server in another language, with one function to fill in for each operation."""

from __future__ import annotations

from pathlib import Path

from ._parser import Parser
from ._servers import find_complaint

EPILOG = """examples:
  spec-tests serve-skeleton rust softmax rms_norm
  spec-tests serve-skeleton c linear linear_vjp --output=kernels
"""


def main(argv: list[str]) -> int:
    """Write the files, print the lines that build and test them, and return the exit status: 0, or 4 if that is not possible."""
    from ..servers.languages import LANGUAGES

    parser = Parser("serve-skeleton", __doc__, epilog=EPILOG)
    parser.add_argument("language", metavar="LANGUAGE", choices=LANGUAGES, help=", ".join(LANGUAGES))
    parser.add_argument("operations", nargs="+", metavar="OPERATION", help="operations and gradients")
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="the folder to write into (default: this one)")
    options = parser.parse_args(argv)
    names = list(dict.fromkeys(options.operations))
    if complaint := find_complaint(names):
        parser.error(complaint)

    from ..servers.interface import interface
    from ..servers.skeleton import write_files, write_test_line

    language, folder = LANGUAGES[options.language], options.output
    files = write_files(language, [interface(name) for name in names])
    if taken := [name for name in files if (folder / name).exists()]:
        parser.error(f"{folder / taken[0]} exists, and nothing is overwritten; name another folder with --output")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        parser.error(f"{folder} cannot be written ({error.strerror})")
    steps = [f"cd {folder}"] * (folder != Path()) + [language.build] * bool(language.build) + [write_test_line(language)]
    print(f"wrote {' and '.join(str(folder / name) for name in files)}: fill in the functions of {language.file}")
    print("\n".join(f"  {step}" for step in steps))
    return 0
