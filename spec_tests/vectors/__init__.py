"""Test vectors: files of inputs with the interval in which each result lies, for those who can run no process."""
