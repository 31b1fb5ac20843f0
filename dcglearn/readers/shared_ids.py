"""Judgements that two files share by their ids, such as a question that people and a machine both
judged.
"""

from pathlib import Path
from typing import Any

from dcglearn.foundation.inputs import Paths
from dcglearn.foundation.validation import EMPTY, InputError
from dcglearn.readers.column_roles import PREFERENCE, Role, Table
from dcglearn.readers.joined_files import log_files, name_of
from dcglearn.readers.line_formats import shown
from dcglearn.readers.mapping import LogMapping
from dcglearn.readers.openers import records_of
from dcglearn.readers.read_table import read_columns

ID = "id of a judgement"
ROLES = {role: PREFERENCE[role] for role in ("a", "b", "query", "docs_a", "docs_b")} | {
    ID: Role("identity", ("id",))
}


def refuse_other_lists(people: Paths, machine: str, mapping: LogMapping) -> None:
    """Raise InputError if a judgement of both files, by its id, has another query, lists or
    documents in each.
    """
    if not all(Path(file).is_file() for file in [*log_files(people), machine]):
        return  # a pipe is read once, and logs in parts have no ids
    try:
        own, *_ = read_columns(people, ROLES, mapping)
        its, *_ = read_columns(machine, ROLES, LogMapping(n_grades=mapping.n_grades, as_is=True))
    except InputError:
        return  # whatever reads the whole file says what is wrong with it
    rows = {name: row for row, name in enumerate(own.get(ID, [])) if name}
    for name, row in ((name, row) for row, name in enumerate(its.get(ID, [])) if name in rows):
        there, here = _judged(own, rows[name]), _judged(its, row)
        for what in here.keys() & there.keys():
            if here[what] != there[what]:
                lines = records_of(machine, {ID: ROLES[ID]})
                place = next((place for place, line in lines if str(line.get(ID)) == name), machine)
                raise InputError(
                    f"{place}: the judgement with id {shown(name)} is of {what} {shown(here[what])}, and in "
                    f"{name_of(people)} of {shown(there[what])}: correct one of the two or, if ids only number the "
                    f"lines, leave them out (dcglearn convert {machine} -o FILE does)"
                )


def _judged(table: Table, row: int) -> dict[str, Any]:
    """Return what was judged in a row, by name, whatever the order of the two lists."""
    sides = [
        [grade for grade in table[side][row].tolist() if grade != EMPTY] for side in ("a", "b")
    ]
    query = {"the query": str(table["query"][row])} if "query" in table else {}
    docs = [
        str(table[side][row]).replace("\t", ", ") for side in ("docs_a", "docs_b") if side in table
    ]
    return {
        "the lists": sorted(sides),
        **query,
        **({"the documents": sorted(docs)} if docs else {}),
    }
