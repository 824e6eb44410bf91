"""How much of the labelled answers can be read in what is sent, by the tiers that recall may use.

    python tests/bench/answers_in_context.py FOLDER [--sets locomo realtalk beam100k]
        [--policy relevance] [--budgets 1000 2000] [--tiers none gist gist+stub]

FOLDER is that of ``ablation.py``. Evidence recall counts whole messages, so that a part of a long
one counts nothing there. Here the words of the labelled answer count (as terms, stop words and the
question's own apart) that stand anywhere in what is sent beside the question, whatever their form:
the mean share in percent, and behind the stroke the evidence recall of the same requests. Where
``summary`` is among the tiers, sentences picked from each message stand in for what a model would
write.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ablation import SHOWN, add_arguments, read_sets

from eunoe import ContextOrchestrator, Conversation, Settings, TokenBudget
from eunoe.pipeline.chat.transcript import PipelineMemory
from eunoe.pipeline.summaries.gist import extractive_gist
from eunoe.stages.scoring.words import terms_of_text

TIERS = ["none", "gist", "gist+stub", "gist+summary", "gist+summary+stub"]


class PickedSentences:
    """A summarizer without a model: the sentences that hold most of a message's terms."""

    name = "picked sentences"

    def summarize(
        self, messages: Sequence[Mapping[str, str]], *, target_ratio: float, **_: object
    ) -> str:
        """Sentences in about that share of the length."""
        said = [(m["role"], m["content"]) for m in messages]
        characters = sum(len(text) for _, text in said)
        most = max(20, int(target_ratio * characters / 4))
        return extractive_gist(said, most, lambda texts: [len(t) // 4 + 1 for t in texts]) or ""


def wanted_terms(question: dict[str, Any]) -> frozenset[str]:
    """The terms of the answer that the question does not have."""
    answer = terms_of_text(str(question.get("answer", "")))
    return frozenset(answer) - frozenset(terms_of_text(question["text"]))


def asked(
    chats: list[Any], tiers: str, policy: str, budget: int, count: Any
) -> tuple[float, float]:
    """Answer terms that can be read, and evidence that is shown whole, in percent."""
    names = tuple(t for t in tiers.split("+") if t != "none")
    knobs, memory = Settings(recall_tiers=names), PipelineMemory()
    writer = PickedSentences() if "summary" in names else None
    read: list[float] = []
    whole: list[float] = []
    for chat in chats:
        for question in chat.questions:
            wanted = wanted_terms(question)
            if question["category"] == "adversarial" or not wanted:
                continue
            asker = ContextOrchestrator(
                TokenBudget(max_tokens=budget + count(question["text"]) + 7),
                settings=knobs,
                memory=memory,
                summarizer=writer,
            )
            given = [*chat.messages, {"role": "user", "content": question["text"]}]
            result = asker.process_sync(
                Conversation.from_openai_messages(given), model_id="gpt-4o", policy=policy
            )
            if result.due is not None:
                asker.drain()
                result = asker.process_sync(
                    Conversation.from_openai_messages(given), model_id="gpt-4o", policy=policy
                )
            sent = result.conversation.to_openai_messages()
            held = {t for m in sent for t in terms_of_text(str(m["content"]))}
            read.append(len(wanted & held) / len(wanted))
            seen = {d.index for d in result.report.decisions if d.fate.value in SHOWN}
            whole.append(fmean(i in seen for i in question["gold"]))
    return 100.0 * fmean(read), 100.0 * fmean(whole)


def with_answers(chats: dict[str, list[Any]], data: Any) -> None:
    """Put the labelled answers, which ``recall.py`` leaves out, beside the questions."""
    import json

    files = {
        "locomo": "locomo10.json",
        "realtalk": "realtalk10.json",
        "beam100k": "beam_100k.json",
    }
    for name, found in chats.items():
        raw = json.loads((data / files[name]).read_text(encoding="utf-8"))
        said: dict[str, Any] = {}
        for key, chat in raw.items() if isinstance(raw, dict) else enumerate(raw):
            for k, entry in enumerate(chat.get("qa") or chat["questions"]):
                named = f"{chat.get('sample_id', key)}#{k}"
                said[str(entry.get("id", named))] = entry.get("answer", "")
        for chat in found:
            for question in chat.questions:
                question["answer"] = said[question["id"]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    add_arguments(parser)
    parser.set_defaults(budgets=[1000, 2000])
    parser.add_argument("--tiers", nargs="+", default=TIERS)
    options = parser.parse_args()
    chats, count = read_sets(options)
    with_answers(chats, options.data or options.folder.parent / "data")
    columns = [(n, b) for n in options.sets for b in options.budgets]
    print("| tiers | " + " | ".join(f"{n} {b}" for n, b in columns) + " |")
    for tiers in options.tiers:
        cells = (asked(chats[n], tiers, options.policy, b, count) for n, b in columns)
        print(
            f"| {tiers} | " + " | ".join(f"{a:.1f} / {e:.1f}" for a, e in cells) + " |", flush=True
        )


if __name__ == "__main__":
    main()
