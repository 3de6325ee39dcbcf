"""The version of the library, which every file that it makes names."""

VERSION = "0.2.0"
