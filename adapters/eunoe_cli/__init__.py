"""The command line door: `eunoe compare`, `explain`, `lint`, `filter`."""
