"""The bugs of the sample that are inside the suite's scope, one file for each operation."""
