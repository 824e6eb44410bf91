"""The subcommands in one place; a module is imported when its command is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subcommand:
    """One subcommand.

    Attributes:
        name: what people type.
        module: where it lives; it has ``add_arguments(parser)`` and ``run(options) -> exit code``.
        summary: one line for the help.
    """

    name: str
    module: str
    summary: str


SUBCOMMANDS: tuple[Subcommand, ...] = (
    Subcommand("compare", "eunoe_cli.compare", "replay chats under five policies, side by side"),
    Subcommand("explain", "eunoe_cli.explain", "what the model would see of a chat, and why"),
    Subcommand("lint", "eunoe_cli.lint", "would this provider accept the message list?"),
    Subcommand("ledger", "eunoe_cli.ledger", "what chats took and cost, and what was saved"),
    Subcommand("proxy", "eunoe_cli.proxy", "fit every chat on its way to an OpenAI-style server"),
    Subcommand("observe", "eunoe_cli.observe", "a page that shows each request live"),
    Subcommand("filter", "eunoe_cli.filter", "print or write the filter for Open WebUI"),
)
