"""The check of direction, under the name that these readers import."""

from dcglearn.reading.direction import *  # noqa: F403
