"""Rankers: a model of documents' features plus a loss, with scikit-learn's contract and `qid`."""
