"""The files inside a zip file, whose sizes are bounded before any of them is inflated."""

import io
import re
import zipfile

from dcglearn.foundation.validation import InputError

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""First bytes of a zip file, with files inside and without."""

WORKBOOK = {"[Content_Types].xml", "mimetype"}
"""Files inside a zip file that make it a workbook."""


class TooLongError(Exception):
    """Data inflate to more bytes than are allowed."""


def is_hidden(name: str) -> bool:
    """Return whether a file is no data: it begins with a point, or a system keeps it."""
    of_system = r"__MACOSX(/|$)|_SUCCESS$|Thumbs\.db$|desktop\.ini$"
    return re.search(rf"(^|/)(\.|~\$|{of_system})", name, re.IGNORECASE) is not None


def archive_of(name: str, data: bytes) -> zipfile.ZipFile:
    """Open a zip file; raise InputError if it is damaged, encrypted or packed without a bound."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except Exception as error:  # the module raises errors of several kinds for what is damaged
        raise InputError(
            f"{name}: a zip file or workbook that is damaged ({error}); make or copy it again"
        ) from error

    # refuse members that cannot be read within a bound
    for inside in archive.infolist():
        if inside.flag_bits & 1:
            raise InputError(
                f"{name} is encrypted ({inside.filename}); unpack it with its password"
            )

        if inside.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(
                f"{name}: {inside.filename} is packed by a method other than deflate (number "
                f"{inside.compress_type}); pack it by deflate, or unpack it"
            )
    return archive


def files_inside(name: str, data: bytes, most: int) -> list[tuple[str, bytes]]:
    """Return the names and bytes of the files in a zip file, in order, without hidden ones.

    A workbook is returned as it is. Raise TooLongError if the files have more than `most` bytes in
    all, and InputError if there is none, or one is damaged or another zip file.
    """
    archive = archive_of(name, data)
    if WORKBOOK & {*archive.namelist()}:
        return [(name, data)]

    # the files that count
    members = [x for x in archive.infolist() if not (x.is_dir() or is_hidden(x.filename))]
    if not members:
        raise InputError(f"{name} holds no file; put the log into it")
    if len({inside.filename for inside in members}) < len(members):
        raise InputError(f"{name} holds two files of one name; make it again")
    if sum(inside.file_size for inside in members) > most:
        raise TooLongError

    # their bytes, no more of each than was counted
    files = []
    for inside in sorted(members, key=lambda inside: inside.filename):
        place = f"{name}/{inside.filename}"
        try:
            with archive.open(inside) as file:
                files.append((place, file.read(inside.file_size)))
        except Exception as error:
            raise InputError(
                f"{place}: damaged ({error}); make or copy the zip file again"
            ) from error

        # a zip file inside could hold any number of others
        if files[-1][1].startswith(ZIP) and not WORKBOOK & {*archive_of(*files[-1]).namelist()}:
            raise InputError(f"{place}: a zip file inside a zip file; unpack it")
    return files
