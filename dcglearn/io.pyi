"""Public names of `dcglearn.io`."""

from dcglearn.foundation.validation import UpsideDownError as UpsideDownError
from dcglearn.logs.preference_pairs import Agreement as Agreement
from dcglearn.logs.visibility import Visibility as Visibility
from dcglearn.logs.visibility import encode as encode
from dcglearn.rankers.queries import Queries as Queries
from dcglearn.rankers.svmlight import read_queries as read_queries
from dcglearn.reading.judgements import Judgements as Judgements
from dcglearn.reading.judgements import read_judgements as read_judgements
from dcglearn.reading.preferences import Preferences as Preferences
from dcglearn.reading.read import read_preferences as read_preferences
from dcglearn.reading.read import read_questions as read_questions
from dcglearn.reading.read import read_ratings as read_ratings
from dcglearn.reading.recognised import Recognised as Recognised
from dcglearn.reading.run_lists import with_runs as with_runs
from dcglearn.reading.runs import Run as Run
from dcglearn.reading.runs import read_runs as read_runs
from dcglearn.reading.shapes import from_long as from_long
from dcglearn.reading.shapes import with_grades as with_grades

__all__: list[str]
