"""Streams with a Schema: record batches in lanes and in frames, and rows that have to fit.

Begin with `column_codec.py`.
"""
