"""`python -m paddock` is the command `paddock`."""

import sys

from paddock.cli import main

sys.exit(main())
