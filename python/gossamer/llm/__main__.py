"""python -m gossamer.llm MODEL"""

import sys

from .terminal import main

sys.exit(main())
