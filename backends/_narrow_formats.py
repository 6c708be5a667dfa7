"""The formats of few bits: what the backends need to know of each."""

__all__ = ["FLOATS", "INTEGERS", "NAN_CODES"]
FLOATS = {  # bits of the code and of its fraction, the exponent of the smallest normal number, and the largest number
    "float8_e4m3fn": (8, 3, -6, 448.0),
    "float8_e5m2": (8, 2, -14, 57344.0),
    "float8_e4m3fnuz": (8, 3, -7, 240.0),
    "float8_e5m2fnuz": (8, 2, -15, 57344.0),
    "float6_e2m3fn": (6, 3, 0, 7.5),
    "float6_e3m2fn": (6, 2, -2, 28.0),
    "float4_e2m1fn": (4, 1, 0, 6.0),
}
INTEGERS = {"int8": (-128, 127), "int4": (-8, 7), "uint8": (0, 255), "uint4": (0, 15)}
NAN_CODES = {"float8_e4m3fn": 0x7F, "float8_e5m2": 0x7E, "float8_e4m3fnuz": 0x80, "float8_e5m2fnuz": 0x80}
