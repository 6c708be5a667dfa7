"""The code of the sources' exercises and lab, in `_book` and `_lab` with its own signatures; the others adapt it as backends."""
