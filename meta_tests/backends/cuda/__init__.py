"""Backends on a CUDA device, whose `sigmoid` treats the device wrongly in one way. They need such a device."""
