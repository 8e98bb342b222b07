"""The command line of pinsweep: reads arguments, calls the library, prints."""

__version__ = "0.1.0"
