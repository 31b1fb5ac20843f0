"""The kernels compiled to WebAssembly, in place of this processor's: prints the digests of bits.py.

``python -m tests.kernels.webassembly KERNELS.wasm 20`` takes the first 20 cases. The loader's
functions are replaced before the modules that use them are imported: a call copies its arrays into
WebAssembly's memory, and back afterwards.
"""

import ctypes
import sys
from pathlib import Path

import wasmtime

from dcglearn.kernels import build, library

PAGE = 1 << 16
"""Bytes by which memory grows."""

OPTIONS = (
    "-Wl,--no-entry",
    "-Wl,--export-dynamic",
    "-Wl,--export=__heap_base",
    "-Wl,-z,stack-size=1048576",
)
"""Options of the linker: no program starts, all that is marked is exported."""


def compile_to(path: Path) -> None:
    """Compile the kernels to WebAssembly by zig, with the options of every platform but -shared."""
    options = [flag for flag in build.FLAGS if flag != "-shared"]
    target = ["-target", "wasm32-freestanding", "-nostdlib"]
    compiler = build.Compiler([*build.find_compiler("linux-x86_64").command, *target], is_zig=True)
    label = '-DDCGLEARN_LIBRARY="WebAssembly"'
    build._run([*compiler.command, *options, *OPTIONS, label], path.name, path.parent)


class Machine:
    """An instance of the compiled kernels, with its memory."""

    def __init__(self, path: Path) -> None:
        self._store = wasmtime.Store()
        module = wasmtime.Module.from_file(self._store.engine, str(path))
        self._exports = wasmtime.Instance(self._store, module, []).exports(self._store)
        self._memory = self._exports["memory"]
        self._free = self._start = self._exports["__heap_base"].value(self._store)

    def call(self, name, result, values):
        """Call a function with numbers and arrays, which are copied there and back."""
        self._free = self._start
        places = [value.put(self) if isinstance(value, Argument) else value for value in values]
        given = self._exports[name](self._store, *(0 if x is None else x for x in places))
        for value, place in zip(values, places, strict=True):
            if isinstance(value, Argument):
                value.get_back(self, place)

        assert (given is None) == (result is None)
        return given

    def write(self, address, size):
        """Copy bytes of this process to a new place there, and return that."""
        place = (self._free + 15) & ~15
        self._free = place + size
        missing = self._free - self._memory.data_len(self._store)
        if missing > 0:
            self._memory.grow(self._store, -(-missing // PAGE))
        ctypes.memmove(self._at(place), address, size)
        return place

    def read(self, address, place, size):
        """Copy bytes from there to an address of this process."""
        ctypes.memmove(address, self._at(place), size)

    def _at(self, place):
        return ctypes.addressof(self._memory.data_ptr(self._store).contents) + place


class Argument:
    """An array of a call."""

    def __init__(self, array):
        self._array = array

    def put(self, machine):
        """Copy the array to the machine, and return its place there."""
        return machine.write(self._array.ctypes.data, self._array.nbytes)

    def get_back(self, machine, place):
        """Copy the array back, unless it cannot be written."""
        if self._array.flags.writeable:
            machine.read(self._array.ctypes.data, place, self._array.nbytes)


def replace_library(machine: Machine) -> None:
    """Let the loader's functions call the machine."""

    def plain_function(name, types, result):
        def kernel(*values):
            assert len(values) == len(types)
            return machine.call(name, result, values)

        return kernel

    def checked(check):
        def argument(array, size):
            check(array, size)
            return Argument(array)

        return argument

    library.plain_function = plain_function
    library._from_buffer = Argument
    for letter, (name, _) in library._TYPES.items():
        setattr(library, name, checked(getattr(library, name)))
        library._TYPES[letter] = name, None  # every array goes through its check


def main(path: str, *n_cases: str) -> None:
    """Print a line for each kernel, computed in WebAssembly."""
    replace_library(Machine(Path(path)))
    from dcglearn.foundation.threads import at_most
    from tests.kernels import bits

    with at_most(1):  # the machine has one memory for all that a call is given
        for name, digest in bits.digests_of(*map(int, n_cases)).items():
            print(f'"{name}": "{digest}",')


if __name__ == "__main__":
    main(*sys.argv[1:])
