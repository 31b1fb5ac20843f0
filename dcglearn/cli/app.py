"""The command line: results to standard output, messages to standard error, status 2 for bad input.

Modules are imported inside `main`, so that an interrupt while they are ends quietly too.
"""

import atexit
import contextlib
import errno
import os
import sys
from typing import Any, NoReturn


def main() -> None:
    """Run the command line.

    Bad input ends with status 2 and one line on standard error, an interrupt with 130.
    """
    # standard streams may be closed
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        _end(1, "standard output is closed; redirect it to a file or to /dev/null")

    # an interrupt ends quietly wherever it comes
    try:
        _run()
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as end:
        if end.code == 130:
            _interrupted()
        raise


def _interrupted() -> None:
    """End with status 130, even if the interrupt meets code that `exec` runs, such as an import."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    atexit._run_exitfuncs()
    os._exit(130)


def _run() -> None:
    import typer

    from dcglearn.cli.commands import app
    from dcglearn.cli.messages import as_options
    from dcglearn.cli.terminal import own_terminal
    from dcglearn.foundation.plain_text import one_line
    from dcglearn.foundation.validation import InputError, shortened
    from dcglearn.kernels import KernelError

    # help pages are text without colours, which the streams would escape
    os.environ.setdefault("_TYPER_FORCE_DISABLE_TERMINAL", "1")
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    usage_error: Any = typer.BadParameter.__mro__[2]  # click's, which typer may ship
    with own_terminal(*words[:1]):
        try:
            sys.exit(app(prog_name="dcglearn", standalone_mode=False))

        # words that are no command, option or value
        except usage_error as error:
            message = error.format_message().replace("Value error, ", "")
            if not message:  # the help page is printed
                sys.exit(error.exit_code)
            _end(error.exit_code, one_line(shortened(message)))
        except typer.Abort:
            raise KeyboardInterrupt from None

        # bad input
        except InputError as error:
            _end(2, as_options(one_line(str(error)), *words[:1]))
        except MemoryError as error:
            reason = f"there is not enough memory ({error or 'no more is free'})"
            _end(2, f"{reason}; give less data, or shorter lists (convert --depth)")

        # the reader of our pipe has gone
        except BrokenPipeError:
            _drop_output()
            sys.exit(141)

        # failures that no other input would mend; what could not be written stays unwritten
        except (KernelError, RuntimeError, OSError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.ENAMETOOLONG):
                reason = f"{error.filename}: cannot be used ({error.strerror})"
                _end(2, one_line(shortened(f"{reason}; name another file")))
            _drop_output()
            _end(1, shortened(str(error)))


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(status: int, message: str) -> NoReturn:
    print(f"dcglearn: {message}", file=sys.stderr)
    sys.exit(status)
