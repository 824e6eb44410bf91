"""The command line door: `eunoe`, with a module for each of its subcommands."""
