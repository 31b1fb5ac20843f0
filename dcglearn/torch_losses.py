"""Objectives as PyTorch modules, over padded batches, with gradients by compiled kernels."""

from typing import Any

import numpy as np

from dcglearn.losses import Objective

try:
    import torch
except ImportError as error:
    raise ImportError(
        "PyTorch is not installed: pip install 'dcglearn[torch]', or its CPU build"
    ) from error

from dcglearn.foundation.validation import InputError


class _Function(torch.autograd.Function):
    """The mean of an objective over queries, computed on the CPU, and its gradient."""

    @staticmethod
    def forward(
        context: Any,
        scores: torch.Tensor,
        grades: torch.Tensor,
        mask: torch.Tensor,
        loss: Objective,
    ) -> torch.Tensor:
        # documents of each query in a row, without those that fill the batch
        sizes = mask.sum(dim=1).cpu().numpy()
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        kept = scores.detach()[mask].cpu().numpy().astype(np.float64)
        value, gradient = loss(kept, grades[mask].cpu().numpy(), offsets)

        # the gradient in the shape of the batch; PyTorch minimises
        slope = torch.zeros_like(scores)
        slope[mask] = torch.as_tensor(gradient, dtype=scores.dtype, device=scores.device)
        context.save_for_backward(slope / -len(sizes))
        return scores.new_tensor(-value / len(sizes))

    @staticmethod
    def backward(context: Any, above: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (slope,) = context.saved_tensors
        return above * slope, None, None, None


class TorchLoss(torch.nn.Module):
    """Minus the mean of an objective over queries, as a PyTorch module to be minimised.

    `loss` is an objective of `dcglearn.losses`, such as ``ApproxNDCG(dcg)``.

    Examples
    --------
    >>> import torch
    >>> loss = TorchLoss(dl.losses.ApproxNDCG(dl.DCG([0, 1, 3], [1, 0.5])))
    >>> scores = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    >>> loss(scores, torch.tensor([[2, 0, 1], [0, 1, -1]])).backward()
    >>> bool(scores.grad[0, 0] < 0), bool(scores.grad[1, 2] == 0)
    (True, True)
    """

    def __init__(self, loss: Objective) -> None:
        super().__init__()
        self.loss = loss

    def forward(
        self, scores: torch.Tensor, grades: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the loss of a padded batch, a scalar.

        Raises InputError if the shapes differ, a score is not finite, or a grade is not on the
        scale.

        `scores`, `grades` and `mask` have the shape (Q, N); the mask is True where there is a
        document, by default where grades are 0 or more.
        """
        present = grades >= 0 if mask is None else mask.bool() & (grades >= 0)
        if scores.ndim != 2 or scores.shape != grades.shape or scores.shape != present.shape:
            shapes = [tuple(tensor.shape) for tensor in (scores, grades, present)]
            raise InputError(f"scores, grades and mask must have one shape (Q, N), not {shapes}")
        return _Function.apply(scores, grades, present, self.loss)
