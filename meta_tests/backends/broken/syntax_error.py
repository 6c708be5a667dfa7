"""Have a syntax error."""

def sigmoid(x:
