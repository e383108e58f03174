"""searchsim: a simulated search environment for injection experiments on deep-research agents."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["__version__"]

try:
    __version__ = version("searchsim")
except PackageNotFoundError:  # a source tree that nobody installed
    __version__ = "0+unknown"
