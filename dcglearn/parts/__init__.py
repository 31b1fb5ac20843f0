"""Logs larger than memory: Parquet parts and Dask."""
