"""The loader of the C kernels, and checked arguments for their functions.

A kernel is called through `function`, with whole numbers and arrays; `floats`, `int8s` and their
like, by which it checks them, refuse an array of another type, order or length, because C would
read past its end.
"""

import ctypes
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcglearn.foundation.version import __version__
from dcglearn.kernels import KernelError

HERE = Path(__file__).parent
BASELINE, AVX2 = "kernels.lib", "kernels.avx2.lib"
"""Names of the libraries, for any processor and for x86-64 with AVX2; their results are equal."""

COUNT, ARRAY, NUMBER = ctypes.c_int64, ctypes.c_void_p, ctypes.c_double
"""Types of parameters: a whole number, the address of an array, and a number."""

Kernel = Callable[..., Any]


def function(prototype: str) -> Kernel:
    """Return a C function, called with whole numbers, numbers and arrays, which are checked.

    The prototype is its name, its parameters in order, and ``-> n`` or ``-> #`` if it returns a
    whole number or a number. A parameter is ``n`` for a whole number, ``#x`` for a number,
    ``f[n*p]`` for an array of which C touches ``n*p`` entries (a formula of the whole numbers),
    with ``?`` behind it where None may stand for it. Arrays are ``f``
    (float64), ``b`` (int8), ``i`` (int32) or ``l`` (int64); ``f[n,p]`` has two dimensions or more,
    and ``f[n;p]`` holds two arrays or more, one behind another, which the call makes.
    C is not given a whole number in parentheses, ``(n)``, which only formulas need.

    What the call can find or make is not given to it. ``.n``, and a whole number that occurs in
    formulas alone, is the length of the first array ``f[n]`` or ``f[n+1]``, or of a dimension of
    the first ``f[n,p]``. An array with ``!`` behind it is made for the kernel to fill, one with
    ``+`` to add to, and both are returned after the result; one with ``~`` is working memory, whose
    formula may call a function of the library that begins with ``work_of_``. ``first`` and
    ``last``, the ends of a chunk, are given before all others.
    """
    head, _, result = prototype.partition(" -> ")
    name, *texts = head.split()
    parameters = [_parameter(text, i) for i, text in enumerate(texts)]
    scope: dict[str, Any] = {"view_": _from_buffer, "new_": np.empty, "zeros_": np.zeros}

    # what the caller gives, and what C is given
    given = [x.label for x in parameters if x.mark not in MADE and not x.text.startswith(".")]
    given.sort(key=lambda label: label not in ("first", "last"))
    passed = [x for x in parameters if not x.text.startswith("(")]
    types = [ARRAY if x.letter else _number_type(x.text) for x in passed]
    arguments = [_check_of(x, scope) if x.letter else x.label for x in passed]

    # as fast as a call that is written out
    made = [x for x in parameters if x.mark in MADE]
    returned = ["result_"] * bool(result) + [view for x in made for view in _returned(x)]
    lines = [
        *_lengths(parameters, given, scope),
        *(line for x in made for line in _made(x)),
        f"result_ = kernel_({', '.join(arguments)})",
        f"return {', '.join(returned)}",
    ]
    scope["kernel_"] = plain_function(name, types, _number_type(result) if result else None)
    exec(f"def {name}({', '.join(given)}):\n " + "\n ".join(lines), scope)
    checked: Kernel = scope[name]
    return checked


MADE = ("!", "+", "~")
"""Marks of arrays that a call makes."""


class _Parameter(NamedTuple):
    """A parameter of a prototype, its name in Python and, for an array, type, shapes and mark."""

    text: str
    label: str
    letter: str = ""
    shapes: tuple[tuple[str, ...], ...] = ()
    mark: str = ""

    @property
    def sizes(self) -> list[str]:
        """Formulas of the number of entries: of each of the arrays that stand in one piece."""
        return ["*".join(f"({length})" for length in shape) for shape in self.shapes]


def _parameter(text: str, i: int) -> _Parameter:
    array = re.fullmatch(r"([fbil])\[(.+)\]([?!+~]?)", text)
    if array:
        letter, shapes, mark = array.groups()
        outside_calls = r",(?![^(]*\))"
        lengths = tuple(tuple(re.split(outside_calls, shape)) for shape in shapes.split(";"))
        return _Parameter(text, f"array_{i}", letter, lengths, mark)
    return _Parameter(text, text.strip("#.()"))


def _made(parameter: _Parameter) -> list[str]:
    """Return the lines that make an array, or several in one piece with the end of each."""
    _, name, letter, shapes, mark = parameter
    shape, lines = ", ".join(shapes[0]), []
    if len(shapes) > 1:
        before = [f"{name}_{i}" for i in range(len(shapes))]
        lines = [f"{name}_0 = {parameter.sizes[0]}"]
        lines += map("{} = {} + {}".format, before[1:], before, parameter.sizes[1:])
        shape = before[-1]
    maker = "zeros_" if mark == "+" else "new_"
    return [*lines, f"{name} = {maker}(({shape}), '{_CODES[letter]}')"]


def _returned(parameter: _Parameter) -> list[str]:
    """Return the arrays that a call returns of what it made."""
    _, name, _, shapes, mark = parameter
    if mark == "~" or len(shapes) == 1:
        return [name] * (mark != "~")
    starts = ["", *(f"{name}_{i}" for i in range(len(shapes) - 1))]
    return [
        f"{name}[{start}:{name}_{i}].reshape({', '.join(shape)})"
        for i, (start, shape) in enumerate(zip(starts, shapes, strict=True))
    ]


def _lengths(
    parameters: Sequence[_Parameter], given: Sequence[str], scope: dict[str, Any]
) -> list[str]:
    """Return lines that find the whole numbers which a call is not given; declare what they call.

    Raise KeyError if no array has such a length.
    """
    lengths: dict[str, str] = {}
    for x in reversed(parameters):
        if x.letter and not x.mark:
            (shape,) = x.shapes
            lengths |= {length: f"{x.label}.shape[{i}]" for i, length in enumerate(shape)}
            if len(shape) == 1:
                lengths[shape[0]] = f"{x.label}.size"

    # the first array of such a length, or of one more
    lines: dict[str, str] = {}
    for x in parameters:
        formula = x.label if x.text.startswith(".") else "+".join(x.sizes)
        for word in re.findall(r"[a-z_]\w*", formula):
            if word.startswith("work_of_"):
                n_arguments = formula.partition(f"{word}(")[2].partition(")")[0].count(",") + 1
                scope[word] = plain_function(word, [COUNT] * n_arguments, COUNT)
            elif word in lengths and word not in given:
                lines[word] = f"{word} = {lengths[word]}"
            elif word not in (*given, "min", "max"):
                lines[word] = f"{word} = {lengths[f'{word}+1']} - 1"
    return [*lines.values()]


def _check_of(parameter: _Parameter, scope: dict[str, Any]) -> str:
    """Return the check of an array in Python, of which most arrays need the first line alone."""
    _, name, letter, _, mark = parameter
    if mark in MADE:
        return f"view_({name})"
    (size,) = parameter.sizes
    argument, dtype = _TYPES[letter]
    scope |= {f"{argument}_": globals()[argument], f"{letter}_": dtype}
    check = (
        f"(view_({name}) if {name}.flags.carray and {name}.dtype is {letter}_ "
        f"and {name}.size >= {size} else {argument}_({name}, {size}))"
    )
    return f"None if {name} is None else {check}" if mark == "?" else check


def _number_type(parameter: str) -> Any:
    return NUMBER if parameter.startswith("#") else COUNT


def plain_function(name: str, types: Sequence[Any], result: Any) -> Kernel:
    """Return a C function by its name, the types of its parameters and of its result."""
    found = getattr(library(), name)
    found.argtypes, found.restype = types, result
    kernel: Kernel = found
    return kernel


@cache
def library() -> ctypes.CDLL:
    """Load the fastest kernels that this processor runs; raise KernelError with a remedy if none.

    In a clone whose C has changed since they were built, they are built again; in one where they
    were not built, those of an installed dcglearn serve if their C is the same. The variable
    ``DCGLEARN_KERNELS`` takes others: ``baseline`` those for any processor of the platform, a path
    the library there.
    """
    wanted = os.environ.get("DCGLEARN_KERNELS", "")
    if wanted not in ("", "baseline"):
        return load(Path(wanted).absolute())

    folder = HERE
    if (HERE / "build.py").exists():
        _rebuild_if_changed()
        folder = HERE if (HERE / BASELINE).exists() else _installed_beside()
    loaded = load(folder / BASELINE)
    faster = wanted != "baseline" and (folder / AVX2).exists() and loaded.dcglearn_has_avx2()
    return load(folder / AVX2) if faster else loaded


def about() -> str:
    """Return version, platform and fingerprint of the kernels in use, and whether they use AVX2."""
    loaded = library()
    return said_by(loaded) + (", for AVX2" if Path(loaded._name).name == AVX2 else "")


def said_by(loaded: ctypes.CDLL) -> str:
    """Return the version, platform and fingerprint that a library states."""
    loaded.dcglearn_library.restype = ctypes.c_char_p
    said: bytes = loaded.dcglearn_library()
    return said.decode()


def load(path: Path) -> ctypes.CDLL:
    """Load and return a library, unless it is missing or of another platform or version."""
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        why = "is missing" if not path.exists() else f"cannot be loaded on {sys.platform}: {error}"
        raise KernelError(f"the kernels of dcglearn, {path}, {why}; {_remedy()}") from None
    try:
        said = said_by(loaded)
    except AttributeError:
        raise KernelError(f"{path} is not the library of dcglearn's kernels; {_remedy()}") from None
    if not said.startswith(f"dcglearn {__version__} "):
        raise KernelError(
            f"{path} holds the kernels of {said}, but this is dcglearn {__version__}; {_remedy()}"
        )
    return loaded


def _remedy() -> str:
    """Return what to do where the kernels cannot be used."""
    if (HERE / "build.py").exists():
        return (
            "build them with `pip install --editable .` in the clone, or leave its folder, which "
            "hides an installed dcglearn"
        )
    return "install them with `pip install --force-reinstall dcglearn`"


def _rebuild_if_changed() -> None:
    """Build the kernels of a clone where the C beside them is not what they were built from."""
    from dcglearn.kernels import build

    wanted = build.fingerprint().encode()
    there = [path for path in (HERE / BASELINE, HERE / AVX2) if path.exists()]
    if all(wanted in path.read_bytes() for path in there):
        return
    warnings.warn("the C of the kernels has changed: they are built again", stacklevel=2)
    try:
        build.compile_kernels(HERE)
    except (OSError, RuntimeError) as error:
        raise KernelError(
            f"the C of the kernels has changed, but they cannot be built again: {error}"
        ) from None


def _installed_beside() -> Path:
    """Return the folder of an installed dcglearn's kernels of this C; the clone's without one.

    Python finds the clone first where it is started in its folder.
    """
    from importlib.metadata import PackageNotFoundError, files

    from dcglearn.kernels import build

    try:
        installed = files("dcglearn") or []
    except PackageNotFoundError:
        installed = []
    for path in (Path(str(file.locate())) for file in installed if file.name == BASELINE):
        if path.exists() and build.fingerprint().encode() in path.read_bytes():
            return path.parent
    return HERE


Argument = Callable[[NDArray[Any], int], Any]
"""From an array, and how many entries of it a kernel reads or writes, to what ctypes takes."""

_from_buffer: Any = (ctypes.c_char * 0).from_buffer


def _argument(dtype: Any) -> Argument:
    """Return the check of arrays of a type."""
    wanted = np.dtype(dtype)

    def checked(array: NDArray[Any], size: int) -> Any:
        if array.dtype == wanted and array.size >= size:
            try:
                return _from_buffer(array)  # keeps the array as long as the argument
            except (TypeError, ValueError, BufferError):  # it is read-only, or not in C's order
                if array.flags.c_contiguous:
                    return array.ctypes
        raise TypeError(
            f"a kernel takes {size} entries of {wanted} in C's order, not {array.dtype} of shape "
            f"{array.shape} with strides {array.strides}"
        )

    return checked


floats, int8s, int32s, int64s = map(_argument, (np.float64, np.int8, np.int32, np.int64))

_TYPES = {
    "f": ("floats", np.dtype(np.float64)),
    "b": ("int8s", np.dtype(np.int8)),
    "i": ("int32s", np.dtype(np.int32)),
    "l": ("int64s", np.dtype(np.int64)),
}
"""The checks of arrays, and their types, by the letters of `function`."""

_CODES = {"f": "f8", "b": "i1", "i": "i4", "l": "i8"}
"""The types of arrays that a call makes."""
