"""One instance of every result, by wing, and what they all can do."""
