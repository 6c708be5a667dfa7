"""Published verdicts: the page of a signed report, a table of many, and what changed between two versions of a library."""
