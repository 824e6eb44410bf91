"""Where more forms are asked for, all of them compete: whole, summary, excerpt, stub."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from ask import ask, sent_by
from eunoe import ContextOrchestrator, Conversation, Fate, PipelineMemory, Settings, Strategies
from eunoe import TokenBudget as Budget
from eunoe.domain.atom import atom_of
from eunoe.pipeline.recalling.atom_pools import AtomPool
from eunoe.pipeline.recalling.short_forms import OWN_SUMMARY_TOKENS, ShortForm
from eunoe.pipeline.recalling.tiering import LongForms, fill_with_forms, select_by_tiers
from eunoe.stages.scoring.price import price_relevance
from eunoe.stages.selection import GreedyByWeightAlgorithm
from eunoe.stages.selection.tiers import TIER_FIDELITY, Tier
from judge import ThirdsCounter, faults, said
from strategies import POLICIES, PROFILE_NAMES, assistant, budgets, calling, chats, result, user

ALL_FORMS = ("gist", "summary", "stub")
SHORT_TIERS = (Tier.GIST, Tier.SUMMARY, Tier.STUB)


def random_forms(seed):
    """A pool of which some have shorter forms, and others that were not looked at."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 20)), int(rng.integers(0, 4))
    worth = np.round(rng.random(n + m) ** 2, 3)
    cost = np.maximum(2, rng.lognormal(4, 1.2, n + m)).astype(np.int64)
    forms = {
        k: {
            tier: ShortForm(atom_of((k,), k), tier, "x", int(rng.integers(1, cost[k] + 9)))
            for tier in SHORT_TIERS
            if rng.random() < 0.7
        }
        for k in range(n)
        if rng.random() < 0.6
    }
    rest = AtomPool(np.arange(n, n + m), worth[n:], cost[n:]) if m else None
    pool = AtomPool(np.arange(n), worth[:n], cost[:n], rest)
    return pool, LongForms(forms), int(rng.uniform(0.05, 0.9) * cost.sum()) + 1


def best_by_milp(pool, long, room):
    """The optimum over all forms, by an integer program; also over what was not looked at."""
    rows = []  # (item, gain, tokens)
    whole = [pool] if pool.left_out is None else [pool, pool.left_out]
    for part in whole:
        odds = price_relevance(part.worth, part.cost, exponent=0.0)
        rows += zip(part.places.tolist(), odds.tolist(), part.cost.tolist(), strict=True)
    odds = price_relevance(pool.worth, pool.cost, exponent=0.0)
    for k, forms in long.forms.items():
        rows += [(k, odds[k] * TIER_FIDELITY[t], form.tokens) for t, form in forms.items()]
    items, gains, tokens = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    one_form = (items[None, :] == np.unique(items)[:, None]).astype(float)
    answer = milp(
        -gains,
        constraints=LinearConstraint(
            np.vstack([one_form, tokens]), ub=[*np.ones(len(one_form)), room]
        ),
        integrality=np.ones(len(gains)),
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    assert answer.success
    return -answer.fun


def test_the_certificate_over_all_forms_holds_against_the_optimum():
    ratios = []
    for seed in range(200):
        pool, long, room = random_forms(seed)
        choice = select_by_tiers(pool, long, room, room, 0.75)
        proof, best = choice.certificate, best_by_milp(pool, long, room)
        assert proof.value <= best * (1 + 1e-6) + 1e-9
        assert proof.upper_bound >= best * (1 - 1e-6) - 1e-9
        assert choice.cost <= room
        if pool.left_out is None and best:
            ratios.append(proof.value / best)
    assert len(ratios) > 30
    assert np.mean(ratios) > 0.97


def test_a_choice_has_one_form_of_each():
    for seed in range(50):
        pool, long, room = random_forms(seed)
        choice = select_by_tiers(pool, long, room, room + 34, 0.75)
        whole, short = long.split(choice)
        shown = [*whole, *(form.atom.first for form in short)]
        assert sorted(shown) == list(choice.chosen)
        assert sum(pool.cost[whole]) + sum(form.tokens for form in short) == choice.cost
        assert (
            choice.certificate.upper_bound
            >= select_by_tiers(pool, long, room, room, 0.75).certificate.value
        )


@pytest.mark.parametrize(
    ("room", "shown", "tiers"),
    [
        (9, [], []),
        (10, [], [(1, Tier.STUB)]),
        (40, [], [(0, Tier.SUMMARY), (1, Tier.STUB)]),
        (40, [0], [(1, Tier.STUB)]),
        (29, [], [(0, Tier.STUB), (1, Tier.STUB)]),
    ],
)
def test_what_is_left_goes_to_summaries_then_stubs(room, shown, tiers):
    """An excerpt was tried before."""

    def form(k, tier, tokens):
        return ShortForm(atom_of((k,), k), tier, "x", tokens)

    long = LongForms(
        {
            0: {t: form(0, t, n) for t, n in ((Tier.SUMMARY, 30), (Tier.STUB, 11))},
            1: {t: form(1, t, n) for t, n in ((Tier.GIST, 9), (Tier.STUB, 10))},
        }
    )
    found = fill_with_forms(long, shown, room)
    assert [(f.atom.first, f.tier) for f in found] == tiers


class FirstWords:
    """A summarizer that says how a text begins."""

    name = "first words"

    def __init__(self):
        self.asked = []

    def summarize(self, messages, *, target_ratio, context_messages=None):
        self.asked.append(messages)
        return "In short: " + " ".join(messages[0]["content"].split()[:12])


def pages(name, topic, fact=""):
    """A long text about something, too long for a small room."""
    lines = [f"{i}. The {topic} of {name} was looked at again on day {i}." for i in range(60)]
    return f"Report on {name}.\n" + "\n".join([*lines[:30], fact, *lines[30:]])


REPORTS = [
    m
    for name in ("Arnheim", "Basel", "Cádiz")
    for m in (user(pages(name, "harbour", f"The {name} crane lifts 40 tons.")), assistant("Read."))
]
TALK = [m for i in range(30) for m in (user(f"note {i}: rain again"), assistant("noted"))]
QUESTION = user("What did the report on Basel say about the harbour, and that on Arnheim?")
CHAT = [*REPORTS, *TALK, QUESTION]


def asker(tiers, summarizer):
    return ContextOrchestrator(
        settings=Settings(recall_tiers=tiers),
        token_counter=ThirdsCounter(),
        memory=PipelineMemory(),
        summarizer=summarizer,
    )


def fates(answer, fate):
    return [d.index for d in answer.report.decisions if d.fate is fate]


def block_of(answer):
    return "\n".join(said(m) for m in sent_by(answer) if "<recalled" in said(m))


@pytest.mark.parametrize("policy", ["stable", "relevance"])
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_a_stub_names_what_is_too_long(policy, profile):
    answer = ask(CHAT, 900, profile, policy=policy, recall_tiers=("stub",))
    stubs = fates(answer, Fate.STUB)
    assert stubs
    assert set(stubs) <= {0, 2, 4}
    for i in stubs:
        name = ("Arnheim", "Basel", "Cádiz")[i // 2]
        size = answer.report.decisions[i].tokens
        assert f"user (not shown, {size:,} tokens): Report on {name}. …" in block_of(answer)
        assert answer.report.decisions[i].reason == "too large to come back: only named"
    assert answer.report.recalled == answer.report.counts().get("recalled", 0)
    assert answer.report.tokens_after <= 900
    assert faults(sent_by(answer), profile) == []


def test_an_own_summary_comes_back_once_it_is_written():
    writer = FirstWords()
    by = asker(("summary",), writer)
    first = ask(CHAT, 400, policy="relevance", by=by)
    assert fates(first, Fate.SUMMARISED) == []
    assert first.due is not None
    assert first.due.max_tokens == OWN_SUMMARY_TOKENS
    by.drain()
    [[shown]] = writer.asked
    later = ask(CHAT, 400, policy="relevance", by=by)
    [place] = fates(later, Fate.SUMMARISED)
    assert CHAT[place]["content"] == shown["content"]
    assert "user (summary): In short: Report on" in block_of(later)
    assert "its own summary is quoted" in later.report.decisions[place].reason
    assert later.report.recalled == 1 + later.report.counts().get("recalled", 0)


def test_an_own_summary_is_of_that_very_content():
    by = asker(("summary",), FirstWords())
    ask(CHAT, 400, policy="relevance", by=by)
    by.drain()
    edited = [{**m, "content": m["content"] + " Edited."} for m in CHAT[:6]] + CHAT[6:]
    moved = [user("hello"), assistant("hi"), *CHAT]
    assert fates(ask(edited, 400, policy="relevance", by=by), Fate.SUMMARISED) == []
    assert len(fates(ask(moved, 400, policy="relevance", by=by), Fate.SUMMARISED)) == 1


def test_the_summary_of_the_beginning_is_no_form_of_a_message():
    """``stable`` shows it at the head of the window; it is written first."""
    by = asker(("summary",), FirstWords())
    for stop in range(10, len(CHAT), 4):
        answer = ask([*CHAT[:stop], QUESTION], 1400, by=by)
        by.drain()
    head = next(said(m) for m in sent_by(answer) if "<summary" in said(m))
    assert "In short: " in head
    assert "(summary)" not in head.split("</summary>")[0]


def test_no_summaries_for_a_turn():
    by = asker(("summary",), FirstWords())
    ask(CHAT, 400, policy="relevance", by=by)
    by.drain()
    asked = [*CHAT[:-1], user("!nosum " + QUESTION["content"])]
    assert fates(ask(asked, 400, policy="relevance", by=by), Fate.SUMMARISED) == []


@pytest.mark.parametrize("policy", ["stable", "relevance"])
def test_excerpts_alone_are_the_default_and_none_may_come(policy):
    usual = ask(CHAT, 700, policy=policy)
    same = ask(CHAT, 700, policy=policy, recall_tiers=("gist",))
    assert sent_by(usual) == sent_by(same)
    assert fates(usual, Fate.GIST)
    assert fates(usual, Fate.STUB) == []
    assert fates(ask(CHAT, 700, policy=policy, recall_tiers=()), Fate.GIST) == []


CALLS = [
    m
    for name in ("Arnheim", "Basel")
    for m in (
        user(f"Read the report on {name}."),
        calling(f"c_{name}"),
        result(f"c_{name}", pages(name, "harbour")),
        assistant("Read."),
    )
]


def test_a_stub_stands_for_a_call_with_its_result():
    answer = ask([*CALLS, *TALK, QUESTION], 300, recall_tiers=("stub",), policy="relevance")
    stubs = fates(answer, Fate.STUB)
    assert {(i, i + 1) for i in stubs if i % 4 == 1} == {(1, 2), (5, 6)}
    assert set(stubs) == {1, 2, 5, 6}
    assert block_of(answer).count("(not shown") == 2
    assert faults(sent_by(answer), "openai") == []


def test_a_chat_of_tools_names_what_does_not_fit():
    """There values decide what comes back whole; stubs take the room that is left."""
    asked = [*CALLS, *CALLS, user("And what of the harbour in Basel?")]
    answer = ask(asked, 500, recall_tiers=("stub",), policy="relevance")
    assert fates(answer, Fate.STUB)
    assert answer.report.tokens_after <= 500
    assert faults(sent_by(answer), "openai") == []


def test_an_own_algorithm_sees_all_forms():
    by = ContextOrchestrator(
        Budget(400),
        settings=Settings(recall_tiers=("stub",), policy="relevance"),
        token_counter=ThirdsCounter(),
        strategies=Strategies(algorithm=GreedyByWeightAlgorithm()),
    )
    answer = by.process_sync(Conversation.from_openai_messages(CHAT))
    assert fates(answer, Fate.STUB)
    assert answer.report.tokens_after <= 400


@pytest.mark.property
@given(
    st.data(),
    chats(),
    st.sampled_from(POLICIES),
    st.sampled_from(PROFILE_NAMES),
    st.sampled_from([(), ("stub",), ("gist", "stub"), ALL_FORMS]),
)
def test_all_forms_keep_to_the_budget_and_the_rules(data, messages, policy, profile, tiers):
    long = [*REPORTS[:2], *messages]
    budget = data.draw(budgets(3000, 300))
    answer = ask(long, budget, profile, policy=policy, on_overflow="keep", recall_tiers=tiers)
    if policy != "off" and answer.report.infeasible is None:
        assert answer.report.tokens_after <= budget
    again = ask(long, budget, profile, policy=policy, on_overflow="keep", recall_tiers=tiers)
    assert sent_by(answer) == sent_by(again)
    assert len(answer.report.decisions) == len(long)
