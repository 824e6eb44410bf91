"""The account of one request."""

from __future__ import annotations

import json
import re

import pytest

from eunoe import ContextOrchestrator, Conversation, TokenBudget
from eunoe_cli.window_bar import draw_window, window_parts


def test_it_shows_what_is_sent_and_why(eunoe, write, chat):
    code, out, err = eunoe("explain", write(chat), "--budget", "400")
    assert (code, err) == (0, "")
    assert "the request after message 25; budget 400 (as asked)" in out
    assert "of 400 allowed" in out
    assert "policy stable" in out
    assert "\nwindow S" in out
    assert "\nchat   #-" in out
    assert "more dropped" in out
    assert "And now?" in out


def test_all_shows_every_message(eunoe, write, chat):
    _, out, _ = eunoe("explain", write(chat), "--budget", "400", "--all")
    assert all(f"\n{i:6d}  " in out for i in range(len(chat)))


def test_at_looks_at_an_earlier_request(eunoe, write, chat):
    _, out, _ = eunoe("explain", write(chat), "--at", "2")
    assert "the request after message 1;" in out
    assert "2 kept" in out


def test_a_chat_that_ends_with_an_answer_shows_the_request_for_it(eunoe, write, chat):
    _, out, _ = eunoe("explain", write(chat[:-1]))
    assert "the request after message 23;" in out


def test_json_is_the_list_to_send_and_the_report(eunoe, write, chat):
    _, out, _ = eunoe("explain", write(chat), "--budget", "400", "--json")
    plain = json.loads(out)
    assert plain["messages"][-1] == chat[-1]
    assert plain["report"]["budget"] == 400
    assert len(plain["report"]["decisions"]) == len(chat)


def test_one_chat_of_several(eunoe, write, chat, chat_with_tools):
    path = write([{"messages": chat}, {"messages": chat_with_tools}])
    assert "chat.json #2: the request after" in eunoe("explain", path, "--chat", "2")[1]
    code, _, err = eunoe("explain", path, "--chat", "3")
    assert code == 2
    assert "the file holds 2" in err


@pytest.mark.parametrize("at", ["0", "27", "-1"])
def test_a_moment_that_is_not_there(eunoe, write, chat, at):
    code, _, err = eunoe("explain", write(chat), "--at", at)
    assert code == 2
    assert "expected a number from 1 to 26" in err


@pytest.mark.parametrize("policy", ["stable", "relevance", "window", "off"])
def test_the_parts_add_up_to_what_is_sent(chat, policy):
    result = ContextOrchestrator(TokenBudget(400)).process_sync(
        Conversation.from_openai_messages(chat), policy=policy
    )
    sizes = window_parts(result)
    free = sizes.pop("free")
    assert sum(sizes.values()) == result.report.tokens_after
    assert free == max(0, 400 - result.report.tokens_after)
    for width in (30, 80):
        assert len(draw_window(result, width)[0]) <= width


def test_how_much_of_the_request_before_is_repeated(eunoe, write):
    chat = [{"role": "system", "content": "Be brief."}]
    for k in range(30):
        chat.append({"role": "user", "content": f"Question {k}? " + "word " * 40})
        chat.append({"role": "assistant", "content": f"Answer {k}. " + "word " * 40})
    path = write(chat)
    assert "repeats" not in eunoe("explain", path, "--at", "2", "--budget", "2000")[1]
    lines = [eunoe("explain", path, "--at", str(k), "--budget", "2000")[1] for k in range(4, 61, 2)]
    repeats = [re.search(r"repeats ([\d,]+) tokens of the request before(.*)", x) for x in lines]
    assert all(repeats)
    cuts = [found for found in repeats if "then comes a cut" in found[2]]
    assert 1 <= len(cuts) < 6
    assert all(int(found[1].replace(",", "")) < 50 for found in cuts)
    grown = [int(found[1].replace(",", "")) for found in repeats if found not in cuts]
    assert max(grown) > 1500
    pays = [re.search(r"pays after (\d+) requests \(a cached token at 0.1 of", x[2]) for x in cuts]
    # nine times what is left and read anew, in units of what goes: 4 to 9 for a cut to 30-50 %
    assert all(found and 4 <= int(found[1]) <= 9 for found in pays)
    at_half = eunoe(
        "explain", path, "--at", _place(lines, cuts), "--budget", "2000", "--model", "gpt-4o"
    )
    assert "(a cached token at 0.5 of a new one)" in at_half[1]


def _place(lines, cuts):
    return str(4 + 2 * next(i for i, line in enumerate(lines) if cuts[0][0] in line))
