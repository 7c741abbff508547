"""Functions compiled for the shapes they are called with."""

import os
import shutil
from collections.abc import Callable

import torch
import torch._dynamo

from paddock.errors import PaddockError

COMPILERS = ("g++", "clang++")


def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """The same function as one piece of C++, gradients inside it included. The first call with new shapes takes seconds."""
    if not (os.environ.get("CXX") or any(shutil.which(name) for name in COMPILERS)):
        raise PaddockError(
            f"compiled learning needs a C++ compiler, and there is no {' or '.join(COMPILERS)} here and no CXX that names one. "
            "Install one (Debian: apt install g++), or leave `compiled` off."
        )
    torch._dynamo.config.trace_autograd_ops = True  # otherwise a gradient would cut the function in two
    # the wrapper in C++ takes 6 s more to compile and a fifth off every call
    return torch.compile(function, fullgraph=True, dynamic=False, options={"cpp_wrapper": True})
