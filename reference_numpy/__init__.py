"""The equations of the transformer, one file each, in plain NumPy float64: slow, dull and right."""
