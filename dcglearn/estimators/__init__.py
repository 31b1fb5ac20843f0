"""scikit-learn estimators around the fits: they can be cloned and searched over."""
