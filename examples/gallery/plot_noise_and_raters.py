"""
Careful and careless raters
===========================

Four raters judge 150 pairs each; one errs in 30% of them. The learner estimates each
rater's error rate with the curves, and counts the careless one less.
"""

import matplotlib.pyplot as plt

import dcglearn as dl

plt.style.use(dl.plots.PRINT_STYLE)
truth = dl.simulate.ground_truth("D1")
errors = {"ann": 0.0, "bob": 0.05, "cas": 0.1, "dan": 0.3}
first, second = (
    dl.simulate.free_lists(5, 10, 600, random_state=seed) for seed in (0, 1)
)
raters = [*errors] * 150
log = dl.simulate.judge(
    truth, first, second, rater=raters, rater_error=errors, random_state=2
)
learner = dl.DCGLearner().fit(log)

figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
axes.bar(
    list(errors),
    [learner.rater_error_[rater] for rater in errors],
    color="C0",
    label="estimated",
)
axes.plot(
    list(errors),
    list(errors.values()),
    "_",
    markersize=40,
    color="C1",
    markeredgewidth=3,
    label="true",
)
axes.set(ylabel="error rate", title="The careless rater is found")
axes.legend()
plt.show()
