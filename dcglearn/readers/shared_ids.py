"""Judgements that two files share by their ids, such as those of people and a model."""

from pathlib import Path

from dcglearn.foundation.inputs import Paths
from dcglearn.foundation.validation import EMPTY, InputError
from dcglearn.readers.column_roles import PREFERENCE, Record, Table, named_role
from dcglearn.readers.line_formats import shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.openers import log_files, name_of, records_of
from dcglearn.readers.read_table import read_columns

ID = "id of a judgement"
ROLES = {role: PREFERENCE[role] for role in ("a", "b", "query", "docs_a", "docs_b")} | {
    ID: named_role("identity", "id")
}


def refuse_other_lists(people: Paths, machine: str, mapping: LogMapping) -> None:
    """Raise InputError if an id has other queries, lists or documents in the two files."""
    # a pipe is read once, and logs in parts have no ids
    if not all(Path(file).is_file() for file in [*log_files(people), machine]):
        return

    # the reader of the whole file says what is wrong with it
    try:
        own, *_ = read_columns(people, ROLES, mapping)
        its, *_ = read_columns(machine, ROLES, LogMapping(n_grades=mapping.n_grades, as_is=True))
    except InputError:
        return

    # the judgements of both, by their ids
    rows = {name: row for row, name in enumerate(own.get(ID, [])) if name}
    for row, name in enumerate(its.get(ID, [])):
        if name not in rows:
            continue

        # the same judgement, if nothing of it differs
        there, here = _judged(own, rows[name]), _judged(its, row)
        for part in here.keys() & there.keys():
            if here[part] != there[part]:
                # where, and what each says
                raise InputError(
                    f"{_place(machine, name)}: the judgement with id {shown(name)} is of {part} "
                    f"{shown(here[part])}, and in {name_of(people)} of {shown(there[part])}: "
                    "correct one of the two or, if ids only number the lines, leave them out "
                    f"(dcglearn convert {machine} -o FILE does)"
                )


def _place(machine: str, name: str) -> str:
    """Return the place of the line with an id."""
    lines = records_of(machine, {ID: ROLES[ID]})
    return next((place for place, line in lines if str(line.get(ID)) == name), machine)


def _judged(table: Table, row: int) -> Record:
    """Return what was judged in a row, by name, whatever the order of the two lists."""
    sides = [table[side][row].tolist() for side in ("a", "b")]
    judged: Record = {
        "the lists": sorted([grade for grade in grades if grade != EMPTY] for grades in sides)
    }
    if "query" in table:
        judged["the query"] = str(table["query"][row])
    docs = [str(table[role][row]) for role in ("docs_a", "docs_b") if role in table]
    if docs:
        judged["the documents"] = sorted(names.replace("\t", ", ") for names in docs)
    return judged
