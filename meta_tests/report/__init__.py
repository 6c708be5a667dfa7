"""Tests of what a run leaves behind: report.jsonl, the page, the badge, CI."""
