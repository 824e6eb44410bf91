from eunoe.stages.scoring.segments import SegmentTrack


def test_silence_starts_a_segment():
    track = SegmentTrack(gap=240, size=24)
    for stamp in (1440, 1500, 1800, 1801):
        track.append(stamp, "user")
    assert track.column(4).tolist() == [0, 0, 1, 1]
    assert track.days(4).tolist() == [1, 1, 1, 1]


def test_undated_chats_are_cut_at_a_user_message():
    track = SegmentTrack(gap=240, size=3)
    for role in ("user", "assistant", "user", "assistant", "user", "user"):
        track.append(0, role)
    assert track.column(6).tolist() == [0, 0, 0, 0, 1, 1]


def test_a_date_holds_until_the_next_one():
    track = SegmentTrack(gap=240, size=2)
    for stamp in (14400, 0, 0, 0, 28800):
        track.append(stamp, "user")
    assert track.column(5).tolist() == [0, 0, 0, 0, 1]
    assert track.days(5).tolist() == [10, 10, 10, 10, 20]
