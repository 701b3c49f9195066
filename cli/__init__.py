"""The command `heronpy`.

main.py has the table of verbs; verbs/ one module each; views/ what a terminal shows; submitting/,
changing/, reading/ and measuring/ what the verbs do. Imports container and kernel. Begin with main.py.
"""
