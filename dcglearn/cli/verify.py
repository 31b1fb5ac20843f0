"""``dcglearn verify``: whether a saved model or a checkpoint is whole, and what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from dcglearn.cli.command import examples
from dcglearn.cli.options import AsJson
from dcglearn.foundation.checkpoints import inspect_checkpoint
from dcglearn.foundation.validation import InputError


@examples(
    "dcglearn verify model",
    "dcglearn verify fit.checkpoint --json",
)
def verify(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A folder that `dcglearn train` wrote, or a checkpoint.")
    ],
    as_json: AsJson = False,
) -> None:
    """Check that a saved model is whole and say what it is; a damaged one ends with status 2."""
    from dcglearn.rankers.model_files import CHECKPOINT

    if not model.exists():
        raise InputError(f"{model} does not exist; check the name")
    folder = model.is_dir()
    checkpoint = model / CHECKPOINT if folder else model
    found: dict[str, Any] = {}
    if folder and ((model / "model.json").exists() or not checkpoint.exists()):
        found["model"] = _model(model)
    if not folder or checkpoint.exists():
        found["checkpoint"] = inspect_checkpoint(checkpoint)
    if as_json:
        typer.echo(json.dumps(found))
        return
    for kind, fields in found.items():
        typer.echo("\n".join([f"{kind}: whole", *(f"  {name}: {value}" for name, value in fields.items())]))


def _model(folder: Path) -> dict[str, Any]:
    """Return the facts of a model; raise InputError if it is damaged."""
    from dcglearn.foundation.inputs import read_json_object
    from dcglearn.rankers.load_ranker import load_ranker

    ranker: Any = load_ranker(folder)
    fields = read_json_object(folder / "model.json")
    facts = {"kind": fields["kind"], "features": ranker.n_features_in_, "metric": repr(ranker.metric_)}
    if hasattr(ranker, "n_trees_"):
        facts["trees"] = ranker.n_trees_
        facts["important"] = ", ".join(f"{name} {share:.0%}" for name, share in ranker.important(5))
    return facts | {"data": ", ".join(f"{name} (SHA-256 {checksum})" for name, checksum in fields["files"].items())}
