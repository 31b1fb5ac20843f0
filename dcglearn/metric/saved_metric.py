"""Base class of metrics: arrays with grade names and notes, compared by value and saved as strict JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from dcglearn.foundation.files import read_json_object, write_json
from dcglearn.foundation.validation import InputError

if TYPE_CHECKING:
    import os
    from typing import Self

SCHEMA_VERSION = 1
"""Version of the file format; files of later versions are refused."""


LIST_UTILITY = "dcglearn.list_utility"
"""The format of `ListUtility`, which is told apart from a DCG in messages."""


class SavedMetric:
    """A metric whose class names its kind and its arrays in `_kind` and `_arrays`."""

    _kind: ClassVar[str]
    _arrays: ClassVar[tuple[str, ...]]
    grade_names: tuple[str, ...] | None
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, as `save` writes them."""
        values: dict[str, Any] = {"format": f"dcglearn.{self._kind}", "version": SCHEMA_VERSION}
        values |= {key: getattr(self, key).tolist() for key in self._arrays}
        if self.grade_names is not None:
            values["grade_names"] = list(self.grade_names)
        if self.notes:
            values["notes"] = list(self.notes)
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Build a metric from exactly what `to_dict` returns.

        Raises
        ------
        InputError
            If a key is missing or unknown, a value is of another type, or the format is of another kind or a later
            version.
        """
        check_format(values, cls._kind, SCHEMA_VERSION)
        fields = {key: value for key, value in values.items() if key not in ("format", "version")}
        missing = [key for key in cls._arrays if key not in fields]
        unknown = sorted(set(fields) - {*cls._arrays, "grade_names", "notes"})
        if missing or unknown:
            problem = f'"{missing[0]}" is missing' if missing else f'unknown key "{unknown[0]}"'
            arrays = ", ".join(cls._arrays)
            raise InputError(f"{problem}; a {cls._kind} holds {arrays} and optionally grade_names, notes")
        for key in cls._arrays:
            check_numbers(fields[key], key)
        for key in ("grade_names", "notes"):
            if key in fields and not isinstance(fields[key], list):
                raise InputError(f'"{key}" must be a list of texts')
        return cls(**fields)

    def save(self, path: str | os.PathLike[str], *, force: bool = True) -> None:
        """Write strict JSON beside `path` and rename it into place; ``force=False`` refuses an existing file."""
        write_json(path, self.to_dict(), force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote.

        Raises
        ------
        InputError
            If the file is damaged, of another kind, or of a later version; it names the file.
        """
        values = read_json_object(path)
        try:
            return cls.from_dict(values)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def _set_texts(self, n_grades: int) -> None:
        """Check `grade_names` and `notes` and make them tuples."""
        for name in ("grade_names", "notes"):
            texts = getattr(self, name)
            if texts is None:
                continue
            if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
                raise InputError(f"{name} must be a list of texts, not {texts!r}")
            object.__setattr__(self, name, tuple(texts))
        if self.grade_names is not None and len(self.grade_names) != n_grades:
            raise InputError(f"{len(self.grade_names)} grade names for {n_grades} grades")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SavedMetric) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, key).tobytes() for key in self._arrays))


def check_format(values: dict[str, Any], kind: str, latest: int) -> None:
    """Raise InputError unless a file's "format" is of a kind, and its "version" at most the latest that is known."""
    found, version = values.get("format"), values.get("version")
    if found != f"dcglearn.{kind}":
        why = "; it is no sum of gains times discounts, as what is asked for needs" if found == LIST_UTILITY else ""
        raise InputError(f'"format" is {found!r}, expected "dcglearn.{kind}"{why}')
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError(f'"version" is {version!r}, expected {latest}')
    if version > latest:
        raise InputError(
            f"written by a later dcglearn (version {version} of the format; this one reads up to {latest}): "
            "upgrade dcglearn"
        )


def check_numbers(value: Any, key: str) -> None:
    """Raise InputError unless `value` is a number or nested lists of numbers; texts and booleans are not numbers."""
    if isinstance(value, list):
        for item in value:
            check_numbers(item, key)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f'"{key}" holds {value!r}, which is not a number')
