"""What is data here: a student's repository, whose modules would take their names from those that the tests load, and files
that end or harm whatever imports them."""

collect_ignore = ["backends"]  # data, not tests
