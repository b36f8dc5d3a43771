"""How the walk is compiled: without counts of references.

Nothing here makes arrays or keeps them, so nobody needs the counts; and threads that walk the same arrays wait for one
another at every one that is counted.
"""

from __future__ import annotations

from typing import Any

import numba

# `_nrt`, which its stubs leave out, is what numba's own sort is compiled with.
compiled: Any = numba.njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[call-overload]
