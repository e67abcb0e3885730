import pytest

from csvsplit import CsvError, join_line, read, split_line


def test_plain():
    assert split_line("a,b,,d") == ["a", "b", "", "d"]


def test_delimiter_in_quotes():
    assert split_line('a,"b,c",d') == ["a", "b,c", "d"]


def test_other_delimiter():
    assert split_line("a;b,c", delimiter=";") == ["a", "b,c"]


def test_line_end_is_dropped():
    assert split_line("a,b\r\n") == ["a", "b"]


def test_quote_that_does_not_end():
    with pytest.raises(CsvError):
        split_line('a,"b')


def test_join():
    assert join_line(["a", "b,c", ""]) == 'a,"b,c",'


def test_read_skips_empty_lines():
    assert list(read("a,b\n\nc,d\n")) == [["a", "b"], ["c", "d"]]
