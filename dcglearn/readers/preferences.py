"""The public log of pairs, under the name that these readers import."""

from dcglearn.reading.preferences import *  # noqa: F403
