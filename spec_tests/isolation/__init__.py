"""The backend and its judge kept apart: patches are found in one process, and messages pass between two."""
