"""A request before it is sent, and what an untouched chat and a plain window would have sent.

Estimates, all of it, until usage is reported; what was never sent stays one for ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from eunoe.stages.accounting.price import ModelPrice, TokenUse


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptForecast:
    """A prompt before it is sent: its tokens, and how many of them open the prompt before it."""

    prompt: int
    repeated: int

    def use(
        self,
        price: ModelPrice | None,
        *,
        caching: bool = True,
        scale: float = 1.0,
        hit_share: float = 1.0,
    ) -> TokenUse:
        """The use to expect.

        Args:
            price: says from where on a prefix is cached, and whether writing is charged.
            caching: whether the provider caches this chat at all.
            scale: provider's tokens per token of ours.
            hit_share: part of a repeated prefix that the cache gives back, in [0, 1].
        """
        prompt = round(self.prompt * scale)
        cached = min(prompt, round(self.repeated * scale * hit_share)) if caching else 0
        if price is not None and cached < price.cache_from:
            cached = 0
        writes = caching and price is not None and price.write is not None
        writes = writes and price is not None and prompt >= price.cache_from
        return TokenUse.of(prompt, cached, prompt - cached if writes else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestForecast:
    """One request: what is sent, and what two others would have sent for the same turns.

    Attributes:
        sent: the list that goes out.
        untouched: the whole chat, nothing cut.
        window: the newest turns that fit the same room, chosen anew at each request.
        untouched_fits: whether the whole chat is within the limit of the request; where it is not,
            it may not have been possible to send it at all.
    """

    sent: PromptForecast
    untouched: PromptForecast
    window: PromptForecast
    untouched_fits: bool = True

    def with_sent(self, tokens: int) -> RequestForecast:
        """The same for a list that goes out with so many tokens, as another counter has it."""
        repeated = min(self.sent.repeated, max(0, tokens))
        return replace(self, sent=PromptForecast(prompt=max(0, tokens), repeated=repeated))

    def with_repeated(self, tokens: int | None) -> RequestForecast:
        """The same, with the repeated prefix of what is sent known; None leaves it as it is."""
        if tokens is None:
            return self
        known = min(max(0, tokens), self.sent.prompt)
        return replace(self, sent=replace(self.sent, repeated=known))

    def with_unchanged(self, tokens: int | None) -> RequestForecast:
        """The same where the chat goes on from only so many tokens of what was given before.

        What its owner changes is read anew whatever is sent of it: the two other ways lose it, too.
        None leaves it as it is.
        """
        if tokens is None:
            return self

        def bounded(prompt: PromptForecast) -> PromptForecast:
            return replace(prompt, repeated=min(prompt.repeated, max(0, tokens)))

        return replace(self, untouched=bounded(self.untouched), window=bounded(self.window))

    def with_left_out(self, tokens: int) -> RequestForecast:
        """The same for a chat that was handed over without ``tokens`` of its earlier messages.

        A host may go on from what was sent before, so that the chat as it is given lacks what an
        untouched one would still have.
        """
        more = max(0, tokens)
        first = not self.untouched.repeated
        return replace(
            self,
            untouched=PromptForecast(
                prompt=self.untouched.prompt + more,
                repeated=0 if first else self.untouched.repeated + more,
            ),
        )

    def with_more_tokens(self, tokens: int, *, again: bool) -> RequestForecast:
        """The same with ``tokens`` more in the newest message, whatever else is sent.

        Args:
            again: the request before this one had them, too; what is sent has them in its repeated
                prefix already if that is known.
        """
        more = max(0, tokens)

        def grown(prompt: PromptForecast, *, known: bool) -> PromptForecast:
            repeated = prompt.repeated + (more if again and prompt.repeated and not known else 0)
            return PromptForecast(prompt=prompt.prompt + more, repeated=repeated)

        return replace(
            self,
            sent=grown(self.sent, known=True),
            untouched=grown(self.untouched, known=False),
            window=grown(self.window, known=False),
        )

    def to_json(self) -> list[int]:
        """Plain form, for a host's notes on a turn."""
        pairs = (self.sent, self.untouched, self.window)
        return [n for p in pairs for n in (p.prompt, p.repeated)] + [int(self.untouched_fits)]

    @classmethod
    def from_json(cls, value: object) -> RequestForecast | None:
        """Read the plain form; None from anything else."""
        if not isinstance(value, list | tuple) or len(value) != 7:
            return None
        if not all(type(n) is int and n >= 0 for n in value):
            return None
        sent, untouched, window = (
            PromptForecast(prompt=value[k], repeated=value[k + 1]) for k in (0, 2, 4)
        )
        fits = bool(value[6])
        return cls(sent=sent, untouched=untouched, window=window, untouched_fits=fits)


def provider_forecast(
    forecast: RequestForecast, extra: int, factor: float, window: int = 0
) -> RequestForecast:
    """The forecast in the provider's tokens, with what the host adds in front of every list.

    An untouched chat that the model cannot hold would not have been answered, nor paid: of it only
    what the model holds counts, so that no saving is claimed on more.

    Args:
        forecast: by our count, of the list that we return.
        extra: tokens of the model's own system prompt.
        factor: provider's tokens for each of ours.
        window: tokens that the model holds; 0 if unknown.
    """

    def charged(prompt: PromptForecast) -> PromptForecast:
        repeated = prompt.repeated + extra if prompt.repeated else 0
        return PromptForecast(
            prompt=math.ceil((prompt.prompt + extra) * factor),
            repeated=math.ceil(repeated * factor),
        )

    return RequestForecast(
        sent=charged(forecast.sent),
        untouched=_within_window(charged(forecast.untouched), window),
        window=charged(forecast.window),
        untouched_fits=forecast.untouched_fits,
    )


def _within_window(prompt: PromptForecast, window: int) -> PromptForecast:
    if not window or prompt.prompt <= window:
        return prompt
    return PromptForecast(prompt=window, repeated=min(prompt.repeated, window))
