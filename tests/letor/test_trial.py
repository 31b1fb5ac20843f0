"""Which candidates are blended, by hand."""

import numpy as np
import pytest

from dcglearn.letor.trial import within_error


def test_what_is_blended_by_hand():
    values = np.array([[0.4, 0.8, 0.6, np.nan], [0.5, 0.6, 0.6, np.nan], [0.4, 0.7, 0.5, np.nan]])
    means, used = within_error(values)  # differences of the second: -.1, .2, 0, of mean 1/30 and error .0882
    assert means == pytest.approx([0.6, 17 / 30, 16 / 30])
    assert used.tolist() == [True, True, False]  # those of the third: 0, .1, .1, of mean .0667 and error .0333
    assert within_error(values[:, :1])[1].tolist() == [False, True, False]
    assert within_error(values[:, 3:])[1].all()
