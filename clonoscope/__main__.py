"""`python -m clonoscope`: the same as the command `clonoscope`."""

import sys

from clonoscope.command import main

if __name__ == "__main__":
    sys.exit(main())
