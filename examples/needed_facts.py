"""How many of the facts that an answer needs are in what the model is sent?

    python examples/needed_facts.py [budget]

The long chat marks, for 12 late questions, what their answers take from far back. Each policy is
asked for its list at these questions; a fact counts if its text stands in the list. One chat that
we wrote ourselves is an illustration, not a measurement.
"""

import json
import sys

from make_long_chat import make_messages, needed_facts

from eunoe_cli.contenders import CONTENDERS, Contender, Contest, has_langchain
from eunoe_cli.ruler import Ruler
from eunoe_cli.table import format_table


def count_facts(contender: Contender, contest: Contest) -> tuple[int, int]:
    """Facts that are there, and tokens sent, over all marked questions.

    Every request of the chat is made, in order, as a program would make them.
    """
    choose, facts = contender.start(contest), needed_facts()
    there = tokens = 0
    for k, message in enumerate(contest.messages):
        if message["role"] == "assistant":
            view = choose(k)
            if k - 1 in facts:
                text = json.dumps(view, ensure_ascii=False)
                there += sum(fact in text for fact in facts[k - 1])
                tokens += contest.ruler.total(view)
    return there, tokens


def count_all(budget: int = 8000) -> dict[str, tuple[int, int]]:
    """Facts there and tokens sent, for each policy that can run here."""
    messages = make_messages()
    contest = Contest(messages=messages, budget=budget, ruler=Ruler(messages))
    return {
        contender.label: count_facts(contender, contest)
        for contender in CONTENDERS
        if contender.name != "langchain" or has_langchain()
    }


def facts_there(budget: int = 8000) -> dict[str, str]:
    """For each policy: how many of all the facts are there."""
    whole = sum(map(len, needed_facts().values()))
    return {label: f"{there} of {whole}" for label, (there, _) in count_all(budget).items()}


def main(budget: int) -> None:
    questions = len(needed_facts())
    whole = sum(map(len, needed_facts().values()))
    rows = [
        [label, f"{there} of {whole}", f"{tokens // questions:,}"]
        for label, (there, tokens) in count_all(budget).items()
    ]
    print(f"{questions} questions, budget {budget:,}\n")
    print(format_table(["", "facts there", "tokens a request"], rows, 80))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
