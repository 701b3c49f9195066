"""`python -m heronpy.loading.run FOLDER`: load one topology file in a process of its own."""

import sys

from heronpy.loading.script import main

if __name__ == "__main__":
    main(sys.argv[1])
