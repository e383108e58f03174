"""Python imports this before anything else, where `searchsim run` has put this folder on PYTHONPATH.

Any Python can read this file, also one that is too old for the hook: that one goes unturned, and the run is told.
"""

import os
import sys

_LOG = os.environ.get("SEARCHSIM_REDIRECT_LOG")

if os.environ.get("SEARCHSIM_REDIRECT_URL"):
    if sys.version_info < (3, 8):  # noqa: UP036
        if _LOG:
            with open(_LOG, "a") as _log:  # noqa: PTH123
                _log.write('{"event": "unhooked", "command": "Python %d.%d"}\n' % sys.version_info[:2])  # noqa: UP031
    else:
        try:
            if os.environ.get("SEARCHSIM_REDIRECT_CLOCK"):
                import _searchsim_clock  # type: ignore[import-not-found]

                _searchsim_clock.install(os.environ["SEARCHSIM_REDIRECT_CLOCK"])
            import _searchsim_hook  # type: ignore[import-not-found]

            _searchsim_hook.install()
        except BaseException as _problem:
            # Python would say this and go on, with nothing between the program and the network.
            sys.stderr.write("searchsim: the redirection can't be set up: %r\n" % (_problem,))  # noqa: UP031
            sys.stderr.flush()
            os._exit(70)
        _searchsim_hook.next_sitecustomize()
