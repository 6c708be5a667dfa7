"""Tests of spec_tests/report: report.jsonl, the page, the badge, and what CI uses."""
