"""Freeze the numbers of today, or say what differs from the frozen ones.

``python -m tests.saved.freeze`` writes the files in ``tests/saved/frozen`` anew; an entry that is
equal within the tolerance keeps its bytes. ``--compare`` writes nothing and lists what differs, as
old -> new. ``--only logs`` (or calls, models) does one kind alone. ``--logs`` draws the frozen logs
again. The frozen readings stay as they are: see ``frozen_readings.py``.
"""

import argparse
import json
import platform
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy
from threadpoolctl import threadpool_info

from tests.saved import frozen_calls, frozen_logs, frozen_models

FOLDER = frozen_logs.FOLDER
ABOUT = FOLDER / "machine.json"

EXACT = 1e-9
"""Tolerance where the libraries and the processor's instructions are those of the frozen files."""

ELSEWHERE = 1e-5
"""Tolerance on any other machine, where sums have another order."""

DIGITS = 13
"""Significant digits of the numbers of the logs' fits."""

Entries = dict[str, dict[str, Any]]


# comparison


def machine() -> dict[str, Any]:
    """Return what the order of sums depends on: instructions of the processor, and libraries."""
    simd: Any = np.show_config(mode="dicts")
    blas = {
        f"{entry['version']} {entry.get('architecture')}"
        for entry in threadpool_info()
        if entry["user_api"] == "blas"
    }
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": sorted(blas),
        "instructions": simd["SIMD Extensions"].get("found", []),
    }


def tolerance() -> float:
    """Return the tolerance of this machine."""
    frozen_on = json.loads(ABOUT.read_text(encoding="utf-8"))
    return EXACT if machine() == frozen_on else ELSEWHERE


def equal(old: Any, new: Any, within: float) -> bool:
    """Compare two values as JSON; numbers relative to the largest of their array, or to 1."""
    if old == new:
        return True
    try:
        first, second = np.asarray(old, dtype=float), np.asarray(new, dtype=float)
    except (TypeError, ValueError):
        return _equal_parts(old, new, within)
    if first.shape != second.shape:
        return False
    scale = max(1.0, float(np.nanmax(np.abs(first), initial=0.0)))
    return bool(np.allclose(first, second, rtol=0, atol=within * scale, equal_nan=True))


def _equal_parts(old: Any, new: Any, within: float) -> bool:
    """Compare lists that hold text or gaps, or are of several lengths."""
    if not isinstance(old, list) or not isinstance(new, list) or len(old) != len(new):
        return False
    return all(equal(a, b, within) for a, b in zip(old, new, strict=True))


def differences(old: Entries, new: Entries, within: float) -> list[str]:
    """Return what differs, as lines with name, old and new value."""
    lines = []
    for name in [*old, *(name for name in new if name not in old)]:
        before, after = old.get(name, {}), new.get(name, {})
        for key in [*before, *(key for key in after if key not in before)]:
            if key not in before or key not in after:
                pair = before.get(key, "nothing"), after.get(key, "nothing")
            elif not equal(before[key], after[key], within):
                pair = before[key], after[key]
            else:
                continue
            lines.append(f"{name}, {key}: {_short(pair[0])} -> {_short(pair[1])}")
    return lines


def _short(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else f"{text[:400]}..."


# what is frozen


def fits(names: Iterable[str] | None = None) -> Entries:
    """Return the fits of the frozen logs, or of some of them."""
    logs = frozen_logs.read_logs()
    chosen = logs if names is None else names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: _rounded(frozen_logs.fits_of(logs[name])) for name in chosen}


def _rounded(value: Any) -> Any:
    """Return numbers with the digits that are kept."""
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def calls(names: Iterable[str] | None = None) -> Entries:
    """Return the numbers of the calls, or of some of them."""
    chosen = frozen_calls.CALLS if names is None else names
    return {name: frozen_calls.result_of(name) for name in chosen}


def models() -> Entries:
    """Return the coefficients of the linear models."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: fit() for name, fit in frozen_models.models().items()}


KINDS: dict[str, dict[str, Callable[[], Entries]]] = {
    "logs": {"fits": fits},
    "calls": {"calls": calls},
    "models": {"models": models},
}
"""The kinds, each with its files and what computes them."""


# files


def read(file: str) -> Entries:
    """Return the entries of a frozen file; none if there is no such file yet."""
    path = FOLDER / f"{file}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(file: str, new: Entries) -> list[str]:
    """Write a frozen file, keep what is equal, and return what differs."""
    old = read(file)
    changed = differences(old, new, EXACT)
    kept = {
        name: {
            key: old[name][key]
            if key in old.get(name, {}) and equal(old[name][key], value, EXACT)
            else value
            for key, value in entry.items()
        }
        for name, entry in new.items()
    }
    (FOLDER / f"{file}.json").write_text(_lines(kept), encoding="utf-8", newline="\n")
    return changed


def _lines(entries: Entries) -> str:
    """Return entries as JSON with a line for each value, so that a diff shows what changed."""
    blocks = []
    for name, entry in entries.items():
        values = ",\n".join(f"{_json(key)}: {_json(value)}" for key, value in entry.items())
        blocks.append(f"{_json(name)}: {{\n{values}\n}}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> int:
    """Freeze, or compare; return 1 if something differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=KINDS, action="append", help="one kind alone")
    parser.add_argument("--compare", action="store_true", help="write nothing, list what differs")
    parser.add_argument("--logs", action="store_true", help="draw the frozen logs again")
    parser.add_argument("--within", type=float, help="tolerance of the comparison")
    asked = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    if asked.logs:
        frozen_logs.write_logs(frozen_logs.draw_all())

    # each file of each kind
    n_changed = 0
    for kind in asked.only or KINDS:
        for file, compute in KINDS[kind].items():
            new = compute()
            if asked.compare:
                within = tolerance() if asked.within is None else asked.within
                changed = differences(read(file), new, within)
            else:
                changed = write(file, new)
            n_changed += len(changed)
            print(f"{file}: {len(new)} entries, {len(changed)} values differ")
            print("\n".join(changed))

    # where the numbers were computed
    if not asked.compare and asked.only is None:
        ABOUT.write_text(json.dumps(machine(), indent=1) + "\n", encoding="utf-8")
    return int(n_changed > 0 and asked.compare)


if __name__ == "__main__":
    sys.exit(main())
