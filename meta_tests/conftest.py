"""Keep pytest from collecting the example backends.

Some end or harm the process that imports them, and the modules of the student's repository would shadow those that tests load.
"""

collect_ignore = ["backends"]  # data, not tests
