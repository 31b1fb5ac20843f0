"""Who judged: agreement between raters, their errors and biases."""
