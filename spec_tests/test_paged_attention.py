"""What must hold of paged_attention."""
