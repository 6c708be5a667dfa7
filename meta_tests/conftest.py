"""A student's repository is data here: collected as tests, its modules would take their names from those that the tests load."""

collect_ignore = ["student"]
