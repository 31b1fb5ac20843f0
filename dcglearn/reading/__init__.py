"""Any file as one table against a contract of columns; refusals by row."""
