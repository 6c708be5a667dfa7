"""Say how long something takes, as exactly as an estimate allows."""

from __future__ import annotations

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def say_duration(seconds: float) -> str:
    """Return a duration in words, with at most two digits that mean something.

    >>> [say_duration(s) for s in (4, 50, 130, 2500, 5000, 12_000, 200_000)]
    ['less than a minute', 'about a minute', 'about 2 min', 'about 40 min', 'about 1.5 h', 'about 3 h', 'about 2 days']
    """
    if seconds < MINUTE / 2:
        return "less than a minute"
    if seconds < 1.5 * MINUTE:
        return "about a minute"
    if seconds < 10 * MINUTE:
        return f"about {round(seconds / MINUTE)} min"
    if seconds < HOUR - 2.5 * MINUTE:
        return f"about {5 * round(seconds / MINUTE / 5)} min"
    if seconds < 2.75 * HOUR:
        return f"about {round(2 * seconds / HOUR) / 2:g} h"
    if seconds < 1.5 * DAY:
        return f"about {round(seconds / HOUR)} h"
    return f"about {_round_to_two_digits(seconds / DAY)} days"


def _round_to_two_digits(number: float) -> int:
    size = 10 ** max(len(str(int(number))) - 2, 0)
    return round(number / size) * size


def say_times(count: int) -> str:
    """Return "once", "twice", "three times" …

    >>> [say_times(n) for n in (1, 2, 3, 12)]
    ['once', 'twice', 'three times', '12 times']
    """
    words = {1: "once", 2: "twice", 3: "three times", 4: "four times", 5: "five times"}
    return words.get(count, f"{count} times")
