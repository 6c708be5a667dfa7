"""How an example is drawn: its shapes, its values, and how many examples are tried."""
