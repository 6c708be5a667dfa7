"""Tests of spec_tests/campaign: plans, items, merged reports, and the engines that run them."""
