"""What several ranks may compute in place of the equation: a sum, maximum or offset over them that is taken wrongly."""
