"""
A witness of incoherence
========================

Linear and exponential gains do not always agree. These are the two rankings of the same
ten results on which they differ most.
"""

import dcglearn as dl

linear, exponential = (
    dl.metric("linear-log2@10", 5),
    dl.metric("exponential-log2@10", 5),
)
verdict = dl.coherence(
    linear,
    exponential,
    [4, 4, 3, 3, 2, 2, 1, 1, 0, 0],
    names=("linear gain", "exponential gain"),
)
print(verdict)
figure = dl.plots.witness_figure(verdict)
dl.plots.save_figure(figure, "witness.png")
figure
