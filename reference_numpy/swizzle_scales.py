from typing import Any

import numpy as np

ROWS, COLUMNS, LANES = 128, 4, 32  # of a tile, and of its rows that come first


def swizzle_scales(scales: Any) -> Any:
    """The scales of blocks as cuBLAS reads them: tiles of 128 x 4, one after the other.

        entry (r, c) of a tile stands at 16 (r mod 32) + 4 (r div 32) + c in it

    Shapes
        scales (M, C)  ->  (S)
    Dtypes
        uint8
    Domain
        M, C >= 1. The codes of any format of one byte are given as uint8.
    Edges
        Tiles follow row by row, 512 entries each, so that S = 512 ceil(M / 128) ceil(C / 4). What fills the last tiles is the
        code 0, whatever lay in memory before.

    Choices
        None.
    Source
        NVIDIA, cuBLAS, block scaling factors layout.

    Row 33 is the second in the second group of 32 rows: it starts at 16 + 4.

    >>> swizzle_scales(np.arange(40)[:, None] + np.zeros((1, 3), dtype=int))[:24]
    array([ 0,  0,  0,  0, 32, 32, 32,  0,  0,  0,  0,  0,  0,  0,  0,  0,  1,
            1,  1,  0, 33, 33, 33,  0])

    """
    scales = np.asarray(scales)
    m, c = scales.shape
    tiles = -(-m // ROWS), -(-c // COLUMNS)
    whole = np.zeros((tiles[0] * ROWS, tiles[1] * COLUMNS), dtype=scales.dtype)
    whole[:m, :c] = scales
    return whole.reshape(tiles[0], ROWS // LANES, LANES, tiles[1], COLUMNS).transpose(0, 3, 2, 1, 4).reshape(-1)
