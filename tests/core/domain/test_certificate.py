"""What is proven of what is sent, or why nothing is."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from eunoe.domain.certificate import (
    ALL_SENT,
    Certificate,
    CertificateBasis,
    DeferredCertificate,
    NoCertificate,
    Unproven,
)

CLOSED = Certificate(value=3.0, upper_bound=4.0, basis=CertificateBasis.CLOSED)


@pytest.mark.parametrize(
    ("value", "bound", "ratio", "gap"),
    [
        (3.0, 4.0, 0.75, 1.0),
        (0.0, 0.0, 1.0, 0.0),
        (1.0, -1.0, 1.0, 0.0),
        (5.0, 4.0, 1.0, 0.0),
    ],
)
def test_ratio_and_gap(value, bound, ratio, gap):
    certificate = Certificate(value=value, upper_bound=bound)
    assert (certificate.ratio, certificate.gap) == (ratio, gap)


@pytest.mark.parametrize(
    ("proof", "words"),
    [
        (
            Certificate(value=0.0, upper_bound=0.0, basis=CertificateBasis.CLOSED),
            "nothing speaks to the question under this scoring: no choice is better",
        ),
        (ALL_SENT, "all that may be sent is sent: no choice is better"),
        (
            Certificate(value=3.0, upper_bound=4.0),
            "the choice has at least 75 % of the best possible value under this scoring",
        ),
        (
            CLOSED,
            (
                "recall stayed closed: what is in view has at least 75 % of the best possible "
                "value under this scoring"
            ),
        ),
    ],
)
def test_a_sentence_for_people(proof, words):
    assert proof.sentence() == words


def test_what_is_given_up_counts_no_more():
    certificate = Certificate(value=3.0, upper_bound=4.0)
    assert certificate.without(1.0) == Certificate(value=2.0, upper_bound=4.0)
    assert certificate.without(9.0) == Certificate(value=0.0, upper_bound=4.0)


def test_a_sentence_and_a_value_for_each_reason():
    said = {NoCertificate(reason).sentence() for reason in Unproven}
    assert len(said) == len(Unproven)
    for reason in Unproven:
        nothing = NoCertificate(reason)
        assert nothing.ratio is None
        assert json.loads(json.dumps(nothing.to_dict())) == {"ratio": None, "reason": reason.value}


def test_a_certificate_as_plain_values():
    assert json.loads(json.dumps(CLOSED.to_dict())) == {
        "value": 3.0,
        "upper_bound": 4.0,
        "ratio": 0.75,
        "basis": "closed",
    }


def test_what_is_put_off_is_worked_out_once_and_only_if_looked_at():
    made = []

    def make() -> Certificate:
        made.append(1)
        return CLOSED

    deferred = DeferredCertificate(make)
    assert made == []
    assert deferred.certificate is deferred.certificate is CLOSED
    assert made == [1]


@pytest.mark.parametrize("of", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_of_what_is_put_off_is_the_certificate(of):
    deferred = DeferredCertificate(lambda: CLOSED)
    assert of(deferred) == CLOSED
    assert isinstance(of(deferred), Certificate)
    assert deferred == CLOSED
    assert deferred == DeferredCertificate(lambda: CLOSED)
    assert deferred != ALL_SENT
    assert hash(deferred) == hash(CLOSED)
