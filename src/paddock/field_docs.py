"""What stands under a name, as its documentation: of module constants, of dataclass fields."""

import ast
import inspect
from collections.abc import Iterator
from textwrap import dedent


def documented(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Each statement with the text that stands under it."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        match after:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node, text
            case _:
                yield node, ""


def docs_of(kind: type) -> dict[str, str]:
    """What is said of each field of a dataclass, by its name, on one line."""
    (tree,) = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        node.target.id: " ".join(text.split())
        for node, text in documented(tree.body)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
