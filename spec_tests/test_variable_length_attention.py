"""What must hold of variable_length_attention."""
