"""`python -m sash` is `sash`."""

import sys

from sash.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
