"""Keep the backend and its judge apart: find patches in one process, or pass messages between two."""
