"""Tuples that kill the process that processes them, again and again.

`mark` has what a task is processing, where its successor finds it; `history` counts the deaths of each tuple;
`guard` decides on each tuple; `finding` puts them together for one process. A task is careful only after a
death: then it writes down each tuple before it processes it. Otherwise it writes one byte for each chunk.
"""
