"""Settings of scoring: every constant in one place."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """What each signal adds to the log-odds that a message is needed.

    Values are rounded; halving or doubling any one of them moves evidence recall by about a point.

    Attributes:
        nearby: idf sum over 5 of the terms held here or up to two messages away.
        hits: ``ln(1 + terms held)``.
        around: Share held by the messages up to `reach` away, length-normalised.
        segment: Share of the question's weight that occurs in the segment.
        kind: Share of the question's thesaurus groups that the message touches.
        kind_around: idf sum over 5 of the groups touched nearby.
        feedback: What the message shares with those that answer best so far.
        speaker: Message of the one speaker who is meant (minus for the others).
        user: Message of the user in a chat with an assistant.
        when: Time words for a "when".
        date: Closeness of the message's day to a date in the question.
        novel: ``ln(1 + terms never used before in this chat)``: new words carry new facts.
        standing: Rule or preference set by the user ("always ...", "I prefer ...").
        first_person: The message says "I" or "my".
        length: Per ``ln(tokens)``.
        vector: Per standard deviation of likeness beyond what length explains, where there are
            embeddings.
        label: Per ``ln(label / medium)`` of a model's label, where there are any.
        label_ahead: The same of a label that was made without knowing the question: a quarter, so
            that "drop" takes as much as being a few times longer, and never outweighs the words.
        tool: Message of a tool.
    """

    nearby: float = 2.0
    hits: float = 2.0
    around: float = 1.5
    segment: float = 1.0
    kind: float = 1.5
    kind_around: float = 1.5
    feedback: float = 0.5
    speaker: float = 1.5
    user: float = 1.5
    when: float = 1.0
    date: float = 5.0
    novel: float = 0.5
    standing: float = 1.5
    first_person: float = 1.0
    length: float = -0.5
    vector: float = 0.5
    label: float = 2.0
    label_ahead: float = 0.5
    tool: float = -0.7


@dataclass(frozen=True, slots=True)
class ScoringSettings:
    """Constants of scoring.

    Attributes:
        k1: BM25 saturation.
        b: BM25 length normalisation.
        mean_length: Terms of a message of ordinary length; fixed, so that a message's score does
            not depend on how long the others are.
        near: How much a neighbour's words count for a message, 0 to 1.
        reach: Messages on each side that form the surroundings.
        max_terms: Terms of the question that are used (the rarest).
        near_word: Share that a word counts which is nearly one of the question, divided by the root
            of how many there are.
        max_groups: Thesaurus groups of the question that are used (the rarest).
        feedback_messages: Best messages whose words are looked for elsewhere.
        feedback_terms: Words of theirs that are used.
        feedback_near: How much a neighbour's words of this kind count for a message, 0 to 1.
        date_falloff: Days after which a date's pull falls to 1/e.
        vector_near: How much the likeness of a neighbour counts for a message, 0 to 1.
        vector_share: Share of all log-odds that counts where there are embeddings: words and
            meaning say the same in part.
        segment_gap: Minutes of silence that start a new segment.
        segment_size: Messages of a segment where nothing is dated.
        offset: Log-odds at which relevance is one half.
        weights: Weights of the signals.
    """

    k1: float = 1.2
    b: float = 0.75
    mean_length: float = 25.0
    near: float = 0.6
    reach: int = 6
    max_terms: int = 32
    near_word: float = 0.5
    max_groups: int = 16
    feedback_messages: int = 20
    feedback_terms: int = 40
    feedback_near: float = 0.3
    date_falloff: float = 7.0
    vector_near: float = 0.1
    vector_share: float = 0.75
    segment_gap: int = 240
    segment_size: int = 24
    offset: float = 10.0
    weights: SignalWeights = field(default_factory=SignalWeights)
