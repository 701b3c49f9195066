"""What streamlets become: steps, sources and sinks of a pipeline. Begin with streamlet_steps.py."""
