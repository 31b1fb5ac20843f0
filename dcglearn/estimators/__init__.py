"""scikit-learn's shells around the fits: learners that can be cloned, searched over, saved and
loaded.
"""
