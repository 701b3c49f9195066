"""What `heronpy bench nexmark` runs: nexmark_pipeline.py is the user's file of such a run; begin there."""
