"""The messages as TypeScript, so that the page and the server cannot drift apart: `python -m paddock.typescript` writes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import paddock.messages
from paddock.errors import PaddockError
from paddock.field_docs import documented

MODULES = ("platform", "run", "scene", "cockpit_runs", "cockpit_control", "cockpit_live")
"""Of `paddock.messages`, what a page reads or sends."""
OUT = Path("web/src/generated/messages.ts")
HEAD = "// Made from src/paddock/messages by `python -m paddock.typescript`. Change the messages, not this file.\n"
PLAIN = {"str": "string", "int": "number", "float": "number", "bool": "boolean", "object": "unknown", "None": "null"}


def typescript() -> str:
    """All of it."""
    folder = Path(paddock.messages.__file__).parent
    trees = [ast.parse((folder / f"{name}.py").read_text(encoding="utf-8")) for name in MODULES]
    return "\n".join([HEAD, *(text for tree in trees for text in _declarations(tree))])


def _declarations(tree: ast.Module) -> Iterator[str]:
    for node, doc in documented(tree.body):
        match node:
            case ast.ClassDef():
                yield _interface(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                yield f"{_comment(doc)}export const {name} = {_literal(value)};\n"
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name != "M":
                yield f"{_comment(doc)}export type {name} = {_type(value)};\n"
            case _:
                pass


def _interface(node: ast.ClassDef) -> str:
    rows: list[str] = []
    for part, doc in documented(node.body):
        match part:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=kind, value=default):
                may_miss = default is not None and not _is_literal(kind)
                rows.append(f"{_comment(doc, '  ')}  {name}{'?' if may_miss else ''}: {_type(kind)};\n")
            case _:
                pass
    return f"{_comment(ast.get_docstring(node) or '')}export interface {node.name} {{\n{''.join(rows)}}}\n"


def _comment(text: str, indent: str = "") -> str:
    return f"{indent}/** {' '.join(text.split()).replace('*/', '* /')} */\n" if text else ""


def _is_literal(kind: ast.expr) -> bool:
    return isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Literal"


def _literal(value: object) -> str:
    """A Python constant as TypeScript writes it."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def _type(kind: ast.expr) -> str:
    """An annotation as TypeScript has it."""
    match kind:
        case ast.Constant(value=None):
            return "null"
        case ast.Name(id=name):
            return PLAIN.get(name, name)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return f"{_type(left)} | {_type(right)}"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            return " | ".join(_literal(ast.literal_eval(one)) for one in _members(inner))
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[key, value])):
            return f"Record<{_type(key)}, {_type(value)}>"
        case ast.Subscript(value=ast.Name(id="tuple"), slice=inner):
            members = _members(inner)
            if len(members) == 2 and ast.unparse(members[1]) == "...":
                one = _type(members[0])
                return f"({one})[]" if "|" in one else f"{one}[]"
            return f"[{', '.join(map(_type, members))}]"
        case _:
            raise PaddockError(f"a message has the type {ast.unparse(kind)}, for which typescript.py knows no word. Teach it one.")


def _members(inner: ast.expr) -> list[ast.expr]:
    return inner.elts if isinstance(inner, ast.Tuple) else [inner]


if __name__ == "__main__":
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(typescript(), encoding="utf-8")
    print(f"wrote {OUT}")
