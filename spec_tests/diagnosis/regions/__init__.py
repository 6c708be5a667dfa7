"""In which calls, and in which elements of results, the answers of a backend are wrong: conditions on facts, in one sentence."""
