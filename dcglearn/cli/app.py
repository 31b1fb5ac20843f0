"""The command line: results to standard output, messages to standard error, status 2 for bad input.

Modules are imported inside `main`, so that an interrupt while they are ends quietly too.
"""

import contextlib
import os
import signal
import sys
from typing import Any, NoReturn


def main() -> None:
    """Run the command line.

    Bad input ends with status 2 and one line on standard error, an interrupt with 130.
    """
    # no traceback, here and in modules that are being imported, nor where a pipe's reader has gone
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    # standard streams may be closed
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        _end(1, "standard output is closed; redirect it to a file or to /dev/null")
    _run()


def _run() -> None:
    import typer

    from dcglearn.cli.commands import app
    from dcglearn.foundation.plain_text import one_line
    from dcglearn.foundation.validation import InputError, shortened
    from dcglearn.kernels import KernelError

    # letters that the encoding lacks are escaped
    with contextlib.suppress(AttributeError):  # of streams in memory
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    program: Any = typer.main.get_command(app)
    usage_error: Any = typer.BadParameter.__mro__[1]  # click's, which typer ships
    try:
        sys.exit(program.main(prog_name="dcglearn", standalone_mode=False))

    # words that are no command, option or value; without a message, the help page is printed
    except usage_error as error:
        if message := error.format_message().replace("Value error, ", ""):
            _end(error.exit_code, one_line(shortened(message)))
        sys.exit(error.exit_code)

    # bad input
    except InputError as error:
        _end(2, one_line(str(error)))
    except MemoryError as error:
        reason = f"there is not enough memory ({error})"
        _end(2, f"{reason}; give less data, or shorter lists (convert --depth)")

    # failures that no other input would mend; what could not be written stays unwritten
    except (KernelError, RuntimeError, OSError) as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _end(1, one_line(shortened(str(error))))


def _end(status: int, message: str) -> NoReturn:
    print(f"dcglearn: {message}", file=sys.stderr)
    sys.exit(status)
