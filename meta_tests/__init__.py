"""Tests of the suite itself, in folders named after what they test; data, helpers and measurements have folders of their own."""
