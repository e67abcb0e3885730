import pytest

from inifile import IniError, loads


def test_sections_and_keys():
    assert loads("[a]\nx = 1\n[b]\ny=2\n") == {"a": {"x": "1"}, "b": {"y": "2"}}


def test_keys_before_a_section():
    assert loads("x = 1\n") == {"": {"x": "1"}}


def test_comments():
    assert loads("# one\n[a]\n; two\nx = 1\n") == {"a": {"x": "1"}}


def test_continuation():
    assert loads("[a]\nx = 1\n  2\n") == {"a": {"x": "1\n2"}}


def test_last_one_wins():
    assert loads("[a]\nx = 1\nX = 2\n") == {"a": {"x": "2"}}


def test_error_has_the_line():
    with pytest.raises(IniError, match="line 2"):
        loads("[a]\nnonsense\n")
