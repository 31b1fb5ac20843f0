"""Old words still work, and say what they are called now."""

import warnings

import pytest

from dcglearn.foundation.renamed import current_word


def test_an_old_word_warns_and_a_present_one_does_not():
    with pytest.warns(DeprecationWarning, match="loss='old' is now called 'new'"):
        assert current_word("old", "loss", {"old": "new"}) == "new"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert current_word("new", "loss", {"old": "new"}) == "new"
        assert current_word(None, "loss", {"old": "new"}) is None
