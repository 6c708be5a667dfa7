"""Servers in other languages: what each operation takes and returns, and the source of a server with functions to fill in."""
