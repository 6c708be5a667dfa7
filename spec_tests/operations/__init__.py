"""How the arguments of each operation are drawn, one file for each operation."""
