"""Pictures: what is drawn, and that files are pictures."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import dcglearn as dl
from dcglearn import plots
from dcglearn.estimators.learners import DCGLearner, UtilityLearner
from dcglearn.metrics.dcg import DCG
from dcglearn.plots import dcg_figure, plot_curves, save_figure
from tests.makers import TRUTH, random_log, refused


def axes():
    return Figure().subplots()


def test_gains_and_discounts_are_drawn_to_one_scale():
    dcgs = {"D1": TRUTH, "classic": DCG.standard(5, 10)}
    gains, discounts = axes(), axes()
    plot_curves(dcgs, gains, discounts)
    np.testing.assert_allclose(gains.lines[0].get_ydata(), [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(gains.lines[1].get_ydata(), np.array([0, 1, 3, 7, 15]) / 15)
    np.testing.assert_allclose(
        discounts.lines[0].get_ydata(), discounts.lines[1].get_ydata()
    )  # both logarithmic
    assert gains.get_xlabel() and discounts.get_ylabel()
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in gains.lines}
    assert len(looks) == 2


def test_a_worst_grade_that_costs_something_is_drawn_below_0():
    gains, discounts = dcg_figure(DCG([-0.3, 0.4, 1], [1, 0.9, 0.8])).axes
    np.testing.assert_allclose(gains.lines[0].get_ydata(), [-0.3, 0.4, 1])
    assert discounts.get_ylim()[1] >= 1.04  # the first marker is whole


def test_metrics_of_different_sizes_share_axes():
    figure = dcg_figure({"deep": DCG.standard(3, 20), "flat": DCG([1, 1, 1, 1, 1], [1])})
    assert len(figure.axes) == 2
    refused("no DCG", dcg_figure, {})


def test_a_metric_a_learner_and_a_dictionary_are_drawn_alike():
    log = random_log(50)
    direct, qp = DCGLearner(loss="robust").fit(log), UtilityLearner().fit(log)
    drawn = [dcg_figure(direct), dcg_figure(direct.dcg_), dcg_figure({"mine": direct, "QP": qp})]
    for figure in drawn:
        np.testing.assert_array_equal(
            figure.axes[0].lines[0].get_ydata(), drawn[0].axes[0].lines[0].get_ydata()
        )
    nearest = dcg_figure(qp.factor().dcg).axes[1].lines[0].get_ydata()
    np.testing.assert_array_equal(drawn[2].axes[1].lines[1].get_ydata(), nearest)
    refused("fit a learner first", dcg_figure, DCGLearner())
    refused("usual: nothing says how many grades", dcg_figure, {"usual": "exponential-log2"})

    # words take the scale and the depth of the others
    dcg = direct.dcg_
    usual = dl.metric("exponential-log2", dcg.n_grades, dcg.depth)
    for ways in ([dcg, "exponential-log2"], {"DCG": dcg, "exponential-log2": usual}):
        lines = dcg_figure(ways).axes[1].lines
        assert [line.get_label() for line in lines] == ["DCG", "exponential-log2"]
        np.testing.assert_array_equal(lines[1].get_ydata(), usual.discounts)


def test_a_figure_shows_itself_in_a_notebook_and_names_are_those_of_plots():
    assert dcg_figure(TRUTH)._repr_png_().startswith(b"\x89PNG")
    assert {"dcg_figure", "save_figure"} <= {*dir(plots)} and "np" not in dir(plots)
    assert all(hasattr(plots, name) for name in dir(plots))


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_files_are_pictures(tmp_path, suffix, magic):
    path = tmp_path / f"learned.{suffix}"
    factored = UtilityLearner().fit(random_log(50)).factor()
    figure = dcg_figure({"learned": factored, "classic": DCG.standard(5, 10)})
    save_figure(figure, path)
    assert path.read_bytes().startswith(magic)
    refused("give .png, .pdf, .svg", save_figure, figure, tmp_path / "learned.jpeg")
