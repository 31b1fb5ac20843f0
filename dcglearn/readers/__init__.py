"""Any file, frame or list of records into a log of preferences."""
