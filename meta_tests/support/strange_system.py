"""A fresh Debian system in a folder, made by debootstrap, in which a user with few rights runs a shell command.

The system has the least that Debian installs, and Python: no git and no compiler. The user has no name, a home that is
read-only, one core, the locale C, and no space in /tmp. What a command writes is a layer of its own, so that another command can
begin where it began, or where it ended.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

CHECKOUT = "/srv/spec_tests"
PROGRAMS = {"debootstrap": "debootstrap", "mkfs.exfat": "exfatprogs", "mount.exfat-fuse": "exfat-fuse"}  # with their packages
PACKAGES = "python3,python3-venv,ca-certificates"
STRANGER = "1000"  # the id of the user
VARIABLES = {
    "HOME": "/home/stranger",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C",
    "PYTHONDONTWRITEBYTECODE": "1",
}
DISK_BYTES = 3 << 30  # of the image of a disk, which is a sparse file

ENTER = r"""
mount -t overlay overlay -o "lowerdir=$LAYERS,upperdir=$WRITES,workdir=$SCRATCH" "$INSIDE"
mount -t proc proc "$INSIDE/proc"
mount --rbind /dev "$INSIDE/dev"
for path in /etc/resolv.conf /etc/hosts $CARRIED; do
    if [ -d "$path" ]; then mkdir -p "$INSIDE$path"; else mkdir -p "$INSIDE${path%/*}"; touch "$INSIDE$path"; fi
    mount --bind -o ro "$path" "$INSIDE$path"
done
mkdir -p "$INSIDE$CHECKOUT" "$INSIDE$HOME_THERE"
if [ -n "$DISK" ]; then
    device=$(losetup --find --show "$DISK")
    mount.exfat-fuse -o "uid=$STRANGER,gid=$STRANGER,umask=022,allow_other" "$device" "$INSIDE$CHECKOUT" >/dev/null
    losetup --detach "$device" # when it is no longer mounted
elif [ "$(stat -c %u "$INSIDE$CHECKOUT")" != "$STRANGER" ]; then
    chown "$STRANGER:$STRANGER" "$INSIDE$CHECKOUT"
fi
chroot "$INSIDE" sh -euc "cd $CHECKOUT; $PREPARE"
mount --bind "$INSIDE$HOME_THERE" "$INSIDE$HOME_THERE"
mount -o remount,bind,ro "$INSIDE$HOME_THERE"
mount -t tmpfs -o size=4k,mode=1777 tmpfs "$INSIDE/tmp"
head -c 1000000 /dev/zero >"$INSIDE/tmp/full" 2>/dev/null || true
eval "$MOUNT"
code=0
chroot --userspec="$STRANGER:$STRANGER" "$INSIDE" taskset -c "$CORE" env -i sh -c "cd $CHECKOUT; $COMMAND" 2>&1 || code=$?
if [ -n "$DISK" ]; then umount "$INSIDE$CHECKOUT" || umount --lazy "$INSIDE$CHECKOUT"; fi
exit "$code"
"""


@dataclass(frozen=True)
class Ended:
    """How a command in a strange system ended."""

    code: int
    text: str

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.text.splitlines() if line.strip()]


@dataclass(frozen=True)
class StrangeSystem:
    """A system of layers, the lowest last. `disk` is the image of a disk that holds the checkout, if the layers do not."""

    folder: Path
    layers: tuple[Path, ...]
    disk: Path | None = None

    def run(self, command: str, *, keep: str = "", prepare: str = ":", mount: str = ":", stdin: bytes = b"") -> Ended:
        """Run a command in the checkout.

        `prepare` is run before by root in the system, and `mount` by root outside, where $INSIDE is the system's root. What was
        written is kept as the layer `keep` of the folder.
        """
        writes = self.folder / (keep or "dropped")
        shutil.rmtree(writes, ignore_errors=True)
        settings, carried = read_pip_settings()
        exports = [f"export {name}={shlex.quote(value)}" for name, value in {**VARIABLES, **settings}.items()]
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            folders = {"WRITES": writes, "SCRATCH": Path(place, "scratch"), "INSIDE": Path(place, "inside")}
            for path in folders.values():
                path.mkdir()
            words = {
                **folders, "LAYERS": ":".join(map(str, self.layers)), "CARRIED": " ".join(carried), "DISK": self.disk or "",
                "CHECKOUT": CHECKOUT, "HOME_THERE": VARIABLES["HOME"], "STRANGER": STRANGER, "PREPARE": prepare, "MOUNT": mount,
                "CORE": min(os.sched_getaffinity(0)), "COMMAND": "; ".join([*exports, command]),
            }  # fmt: skip
            enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", ENTER]
            done = subprocess.run(
                enter, env={**os.environ, **{name: str(value) for name, value in words.items()}},
                input=stdin, capture_output=True, check=False,
            )  # fmt: skip
        return Ended(done.returncode, (done.stdout + done.stderr).decode(errors="backslashreplace"))

    def on_top_of(self, keep: str) -> StrangeSystem:
        """Return the system that a command left, whose layer was kept under this name."""
        return replace(self, layers=(self.folder / keep, *self.layers))


def find_obstacle() -> str | None:
    """Return what this machine lacks for a strange system, in one sentence. None if it has all."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "strange systems are made on Linux by root, who may mount and chroot"
    missing = [package for program, package in PROGRAMS.items() if shutil.which(program) is None]
    if missing or shutil.which("apt-get") is None:
        return f"strange systems are made from Debian's packages: run apt-get install {' '.join(missing or ['debootstrap'])}"
    return None


def make_system(suite: str, folder: Path) -> StrangeSystem:
    """Return a release of Debian. It is made by debootstrap from the machine's own source, unless the folder has it."""
    system = folder / suite
    if not system.exists():
        unfinished = folder / f"{suite}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        source = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
        listed = subprocess.run(source, check=True, capture_output=True, text=True).stdout.split()
        if not listed:
            raise SystemExit("apt has no list of Debian's packages: run apt-get update")
        make = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(unfinished), listed[0]]
        subprocess.run(make, check=True, stdout=sys.stderr)
        unfinished.rename(system)
    return StrangeSystem(folder, (system,))


def make_disk_that_ignores_case(folder: Path) -> Path:
    """Return the image of an empty disk on which names that differ in case only are one name."""
    disk = folder / "disk"
    disk.unlink(missing_ok=True)
    with disk.open("wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run(["mkfs.exfat", disk], check=True, stdout=subprocess.DEVNULL)
    return disk


def read_pip_settings() -> tuple[dict[str, str], list[str]]:
    """Return what pip is told on this machine as variables, and the files and folders that it names."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^(?:(:env:)|\w+)\.([\w-]+)='(.*)'$", listed, re.MULTILINE)
    settings = {f"PIP_{name.upper().replace('-', '_')}": value for _, name, value in sorted(found)}  # :env: comes after ""
    paths = [Path(text) for value in settings.values() for text in re.findall(r"(?<![\w/])(?:file:/{2})?(/[^/\s]\S*)", value)]
    return settings, [str(path.parent if path.name == "simple" else path) for path in paths if path.exists()]
