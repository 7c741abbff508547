"""STL, the mesh format the engine reads in its binary form alone."""

import re

import numpy as np

MAX_FACES = 200_000
"""What the engine takes from one file."""
VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)")


def stl_of(triangles: np.ndarray) -> bytes:
    """Triangles (k, 3, 3), metres, as binary STL. Normals are left out: the engine computes its own."""
    rows = np.zeros(len(triangles), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("color", "<u2")])
    rows["corners"] = triangles
    return bytes(80) + len(rows).to_bytes(4, "little") + rows.tobytes()


def binary_stl(content: bytes) -> bytes:
    """The same mesh in binary form, where it is text. What is neither is left for the engine to refuse."""
    if content.lstrip()[:5].lower() != b"solid" or _is_binary(content):
        return content
    try:
        corners = np.array([match.groups() for match in VERTEX.finditer(content)], dtype=float)
    except ValueError:
        return content
    return content if len(corners) % 3 else stl_of(corners.reshape(-1, 3, 3))


def _is_binary(content: bytes) -> bool:
    """Some binary files begin with `solid` too; their length tells."""
    return len(content) >= 84 and len(content) == 84 + 50 * int.from_bytes(content[80:84], "little")
