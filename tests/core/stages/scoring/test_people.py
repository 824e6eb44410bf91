from eunoe.stages.scoring.analysis import analyse_text
from eunoe.stages.scoring.people import SpeakerRegister


def register(*lines):
    people = SpeakerRegister()
    for name, text in lines:
        people.append(analyse_text(text, role="user", name=name))
    return people


def named(people, question, upto):
    return people.named(analyse_text(question, role="user"), upto)[0]


def test_who_is_meant():
    people = register(("Caroline", "hello"), ("Melanie", "hi"), (None, "?"))
    assert people.column(3).tolist() == [0, 1, -1]
    assert named(people, "When did Caroline leave?", 3) == (0,)
    assert named(people, "what do melanie and caroline like", 3) == (1, 0)
    assert named(people, "when did Melanie leave?", 1) == ()
    assert named(people, "and Bob?", 3) == ()


def test_a_name_the_other_one_calls_is_an_alias():
    people = register(*[("Emi", "hey"), ("Elise", "Hi Kate, how are you")] * 3)
    assert named(people, "What does Kate like?", 6) == (0,)
    assert named(people, "What does Kate like?", 4) == ()


def test_a_name_called_by_both_is_nobodys():
    people = register(*[("Emi", "Hi Kate"), ("Elise", "Hi Kate")] * 4)
    assert named(people, "What does Kate like?", 8) == ()
