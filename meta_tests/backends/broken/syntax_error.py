"""It is no Python."""

def sigmoid(x:
