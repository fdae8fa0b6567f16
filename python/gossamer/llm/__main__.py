"""python -m gossamer.llm MODEL talks to it; python -m gossamer.llm serve MODEL answers over HTTP."""

import sys

if sys.argv[1:2] == ["serve"]:
    from .serve import main as serve

    sys.exit(serve(sys.argv[2:]))

from .terminal import main

sys.exit(main())
