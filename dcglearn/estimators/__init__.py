"""scikit-learn estimators around the fits: they can be cloned, searched over, saved and loaded."""
