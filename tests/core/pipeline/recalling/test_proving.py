"""Each answer has a certificate that holds, or says why it has none."""

from __future__ import annotations

import asyncio
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask import ask, orchestrator
from eunoe import Certificate, ContextOrchestrator, Conversation, NoCertificate, Strategies
from eunoe import TokenBudget as Budget
from eunoe.domain.certificate import ALL_SENT, CertificateBasis, DeferredCertificate, Unproven
from eunoe.pipeline.recalling.proving import certify_closed
from eunoe.stages.scoring.price import price_relevance
from eunoe.stages.selection import GreedyByWeightAlgorithm
from judge import ThirdsCounter
from strategies import POLICIES, assistant, chats, user

RULE = "The spare key lies under the blue pot."
LONG = "Please write a poem of many verses about a green field in May, with cows in it. " * 3
OPENS = "Where does the spare key lie?"
SHUT = "Was the train that I noted in note 39 late again?"


def chat(question, turns=40):
    filler = [
        m
        for i in range(turns)
        for m in (user(f"note {i}: the train was late again"), assistant("noted, thanks"))
    ]
    return [user(RULE), assistant("good to know"), *filler, user(question)]


def best_by_table(relevance, cost, budget):
    table = np.zeros(max(budget, 0) + 1)
    for gain, price in zip(relevance, cost, strict=True):
        if price <= budget:
            table[price:] = np.maximum(table[price:], table[: budget + 1 - price] + gain)
    return float(table[-1])


@pytest.mark.property
@given(st.integers(0, 10_000), st.integers(0, 60), st.sampled_from([0.0, 0.75, 1.0]))
def test_nothing_that_the_room_could_hold_is_worth_more(seed, more, exponent):
    rng = np.random.default_rng(seed)
    worth, size = rng.random(14) * rng.integers(0, 2, 14), rng.integers(2, 20, 14)
    system, apart, pictures = rng.random((3, 14)) < 0.15
    start = int(rng.integers(8, 15))
    own = np.where(pictures, rng.integers(1, size), size)  # what it takes in a quotation
    own[start:] = size[start:]
    gains = price_relevance(worth, np.where(pictures, 1, size - 1), exponent=exponent)
    gains[system | apart] = 0.0
    room = int(size[start:].sum()) + more
    proof = certify_closed(
        worth,
        np.concatenate([[0], np.cumsum(size)]),
        np.concatenate([[0], np.cumsum(np.where(system, size, 0))]),
        apart=np.flatnonzero(apart).tolist(),
        cheap=np.flatnonzero(pictures).tolist(),
        start=start,
        room=room,
        exponent=exponent,
    )
    assert proof.value == pytest.approx(gains[start:].sum())
    assert proof.upper_bound >= best_by_table(gains, own, room) * (1 - 1e-9)
    assert proof.upper_bound <= gains.sum() * (1 + 1e-9) + 1e-9
    assert proof.basis is CertificateBasis.CLOSED


def proof_of(messages, budget, **more):
    return ask(messages, budget, **more).report.certificate


@pytest.mark.parametrize("policy", POLICIES)
def test_where_all_fits_nothing_is_better(policy):
    assert proof_of(chat(OPENS), 100_000, policy=policy) is ALL_SENT
    assert proof_of(chat("!recall " + OPENS), 100_000, policy=policy) is ALL_SENT  # is rewritten


@pytest.mark.parametrize("budget", [300, 400, 500])
def test_an_open_gate_has_the_certificate_of_the_choice(budget):
    proof = proof_of(chat(OPENS), budget)
    assert isinstance(proof, Certificate)
    assert proof.basis is CertificateBasis.CHOSEN
    assert 0.0 < proof.ratio <= 1.0


def test_a_closed_gate_says_what_recall_could_have_been_worth():
    answer = ask(chat(SHUT), 400)
    assert answer.report.recalled == 0
    assert isinstance(answer.report.proof, DeferredCertificate)
    proof = answer.report.certificate
    assert proof.basis is CertificateBasis.CLOSED
    assert 0.0 < proof.value < proof.upper_bound
    assert proof.gap > 0.0
    assert proof.sentence() in answer.report.explain()
    assert answer.report.to_dict()["certificate"] == proof.to_dict()


def test_a_certificate_speaks_of_the_request_that_it_belongs_to():
    """However the chat goes on before somebody looks at it."""
    by, messages = orchestrator(400), chat(SHUT)
    early = ask(messages, 400, by=by)
    for k in range(5):
        messages += [assistant("It is in the station."), user(f"And the spare key {k}?")]
        ask(messages, 400, by=by)
    assert early.report.certificate == proof_of(chat(SHUT), 400)


@pytest.mark.parametrize("budget", [360, 380, 400, 420, 480, 500])
def test_what_makes_room_once_it_is_counted_counts_no_more(budget):
    """A line may take a token more than it was chosen at; then something chosen has to go."""
    report = ask(chat("Is it late again?"), budget).report
    seen = [d for d in report.decisions if d.fate == "recalled"]
    scores, sizes = np.array([d.score for d in seen]), np.array([d.tokens for d in seen])
    assert report.certificate.value == pytest.approx(
        price_relevance(scores, sizes - 1).sum(), abs=3e-6
    )


def test_a_report_with_a_certificate_may_be_pickled():
    report = ask(chat(SHUT), 400).report
    assert pickle.loads(pickle.dumps(report)).certificate == report.certificate


TOO_LARGE = [user("hi"), assistant("hello"), user("word " * 2000)]


@pytest.mark.parametrize(
    ("messages", "budget", "more", "reason"),
    [
        pytest.param(chat(LONG), 400, {}, Unproven.UNSCORED, id="does not point back"),
        pytest.param(chat(OPENS), 400, {"recall": "never"}, Unproven.UNSCORED, id="recall off"),
        pytest.param(chat(OPENS), 400, {"policy": "window"}, Unproven.RECENCY, id="window"),
        pytest.param(
            chat("Zebra?"), 400, {"policy": "relevance"}, Unproven.RECENCY, id="nothing speaks"
        ),
        pytest.param(
            chat("Zebra?"), 400, {"policy": "dycp"}, Unproven.RECENCY, id="nothing stands out"
        ),
        pytest.param(chat(OPENS), 300, {"policy": "off"}, Unproven.OVER_BUDGET, id="off"),
        pytest.param(
            TOO_LARGE, 300, {"on_overflow": "truncate"}, Unproven.SHORTENED, id="shortened"
        ),
        pytest.param(
            TOO_LARGE, 300, {"on_overflow": "keep"}, Unproven.OVER_BUDGET, id="sent too large"
        ),
        pytest.param(
            chat(SHUT),
            400,
            {"recall_tiers": ("gist", "stub")},
            Unproven.UNWEIGHED,
            id="forms were not weighed",
        ),
    ],
)
def test_why_there_is_no_certificate(messages, budget, more, reason):
    assert proof_of(messages, budget, **more) == NoCertificate(reason)


def test_an_own_algorithm_was_not_asked():
    asker = ContextOrchestrator(
        Budget(400),
        strategies=Strategies(algorithm=GreedyByWeightAlgorithm()),
        token_counter=ThirdsCounter(),
    )
    report = asker.process_sync(Conversation.from_openai_messages(chat(SHUT))).report
    assert report.certificate == NoCertificate(Unproven.UNWEIGHED)


def test_a_deadline_that_passed_is_said():
    given = Conversation.from_openai_messages(chat(OPENS))
    work = orchestrator(400).process(given, policy="relevance", deadline=0.0)
    report = asyncio.run(work).report
    assert report.certificate == NoCertificate(Unproven.LATE)


@pytest.mark.property
@given(chats(poison=False), st.sampled_from(POLICIES), st.integers(60, 2000))
def test_every_answer_is_proven_or_says_why_not(messages, policy, budget):
    report = ask(messages, budget, policy=policy, on_overflow="keep").report
    proof = report.certificate
    if isinstance(proof, NoCertificate):
        assert proof.ratio is None
        return
    assert 0.0 <= proof.ratio <= 1.0
    assert proof.value <= proof.upper_bound + 1e-9
    assert report.infeasible is None
    if proof.basis is CertificateBasis.WHOLE:
        assert report.counts().get("dropped", 0) == 0
        assert not report.truncated
