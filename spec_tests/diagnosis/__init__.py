"""Which known deviation, or which near miss, explains the wrong answers of a backend."""
