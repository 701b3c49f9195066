"""Windows in event time: which records belong together, when their results are shown, and what is late.

Pure, and per key: a core has `element`, `advance` and `clock` over a state that can be pickled; spans.py has
the one for all windows, slices.py the one for windows that slide. windowing.py is the step around a core.
Begin with spans.py.
"""
