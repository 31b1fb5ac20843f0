"""Logs of answers, under the name that these readers import."""

from dcglearn.reading.answers import *  # noqa: F403
