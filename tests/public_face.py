"""The public names of the package and what stands under them."""

import inspect

import dcglearn

TOPICS = (
    "io", "trust", "coherence", "evaluation", "losses", "rankers", "simulate", "exports", "plots",
)  # fmt: skip
"""The modules of the package that have public names."""


def named_object(name):
    """Return what stands under a name such as ``trust.choose_C``."""
    value = dcglearn
    for part in name.split("."):
        value = getattr(value, part)
    return value


def public_objects():
    """Return each public function and class once, by the shortest name."""
    names = [name for name in dcglearn.__all__ if name not in TOPICS]
    names += [f"{topic}.{name}" for topic in TOPICS for name in named_object(topic).__all__]
    values = {}
    for name in names:
        value = named_object(name)
        if inspect.isfunction(value) or inspect.isclass(value):
            values.setdefault(value, name)
    return {name: value for value, name in values.items()}


OBJECTS = public_objects()
"""The public functions and classes, by the shortest name of each."""
