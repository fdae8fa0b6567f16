"""The version that was installed."""

from importlib.metadata import version as _version_of

version = _version_of("gossamer")
