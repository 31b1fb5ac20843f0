"""The program `app` and its commands: this file names the file of each."""

from dcglearn.cli.ask import ask
from dcglearn.cli.audit import audit
from dcglearn.cli.coherence import coherence
from dcglearn.cli.command import program
from dcglearn.cli.evaluate import compare, evaluate, gate
from dcglearn.cli.learn import learn, learn_answers
from dcglearn.cli.logs import convert
from dcglearn.cli.rankers import rank, train
from dcglearn.cli.saved import export, show

COMMANDS = {
    "Learn a DCG": (learn, learn_answers, convert, ask, show),
    "Evaluate with it": (audit, evaluate, compare, gate, coherence, export),
    "Train rankers against it": (train, rank),
}
"""The commands in the panels of the program's help page."""

app = program("Learn the gains and discounts of DCG from what people preferred.", COMMANDS)
