"""Logs in parts over a Dask cluster, read from Parquet."""
