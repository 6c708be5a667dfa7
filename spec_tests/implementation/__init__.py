"""The implementation under test: find and load it, make and read its arrays, and guard its calls."""
