"""Whole numbers as people type them on a command line, 5e6 among them."""

from contextlib import suppress

import tyro


def registry() -> tyro.constructors.ConstructorRegistry:
    """How tyro should read them."""
    known = tyro.constructors.ConstructorRegistry()

    @known.primitive_rule
    def _(info: tyro.constructors.PrimitiveTypeInfo) -> tyro.constructors.PrimitiveConstructorSpec[int] | None:
        if info.type is not int:
            return None
        return tyro.constructors.PrimitiveConstructorSpec(
            nargs=1,
            metavar="INT",
            instance_from_str=lambda words: _whole(words[0]),
            is_instance=lambda value: type(value) is int,
            str_from_instance=lambda value: [str(value)],
        )

    return known


def _whole(word: str) -> int:
    with suppress(ValueError):
        return int(word)
    with suppress(ValueError):
        if (value := float(word)).is_integer():
            return int(value)
    raise ValueError(f"'{word}' is not a whole number")
