"""Tests that wrong code is caught and named, and that correct code raises no alarm."""
