from eunoe.stages.scoring.concepts import concept_members, concepts_of
from eunoe.stages.scoring.stemming import stem_english


def groups(word):
    return set(concepts_of(stem_english(word)))


def test_members_share_a_group_with_its_name():
    assert groups("sports") & groups("tennis")
    assert groups("pets") & groups("kitten")
    assert groups("instruments") & groups("violins")
    assert not groups("tennis") & groups("violin")


def test_a_word_without_a_group():
    assert concepts_of("zzz") == ()


def test_members_are_those_that_name_the_group():
    members = concept_members("\u00a7sport")
    assert {"tenni", "golf"} <= set(members)
    assert all("\u00a7sport" in concepts_of(member) for member in members)
    assert concept_members("tenni") == ()
