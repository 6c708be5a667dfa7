"""Run a backend in a process of its own: start it, pass messages between it and the suite, and end it."""
