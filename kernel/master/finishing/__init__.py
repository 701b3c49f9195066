"""The end of a topology whose input has ended. Begin with decide.py."""
