from inifile import dumps, loads


def test_round_trip():
    sections = {"a": {"x": "1", "long": "one\ntwo"}, "b": {}}
    assert loads(dumps(sections)) == sections
