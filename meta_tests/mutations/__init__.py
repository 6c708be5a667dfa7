"""Mutations of the machinery that judges: what would let the suite go soft, as data, and how each is tried."""
