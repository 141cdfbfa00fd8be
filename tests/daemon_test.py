#!/usr/bin/env python3
"""Conversations with the daemon over its socket, good ones and bad ones.

$REEVE is the program. Every test has a fresh home; words on the command line choose among them.
"""

import sys
import time
import traceback

import daemon_conversations  # pylint: disable=unused-import
import daemon_crashes  # pylint: disable=unused-import
import daemon_home  # pylint: disable=unused-import
import daemon_neighbours  # pylint: disable=unused-import
from daemon_client import TESTS


def main():
    chosen = [t for t in TESTS if not sys.argv[1:] or any(word in t.__name__ for word in sys.argv[1:])]
    failed = []
    for function in chosen:
        began = time.monotonic()
        try:
            function()
            verdict = "ok"
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
            verdict = "FAILED"
            failed.append(function.__name__)
        print(f"{verdict:6} {time.monotonic() - began:6.2f}s  {function.__name__}", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
