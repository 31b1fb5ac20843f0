"""Logs written to files, and read logs as plain Python values, for the tests of logs."""

from hypothesis import HealthCheck, settings

quick = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def columns(log):
    names = ("preferred", "other", "weight", "tie", "strength", "margin", "rater", "query")
    return {n: None if getattr(log, n) is None else getattr(log, n).tolist() for n in names} | {
        "n_grades": log.n_grades,
        "names": log.grade_names,
    }


def rows(log):
    return [(tuple(a), tuple(b)) for a, b in zip(log.preferred.tolist(), log.other.tolist(), strict=True)]
