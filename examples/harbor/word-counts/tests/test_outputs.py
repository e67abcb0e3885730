from pathlib import Path

APP = Path("/app")
COUNTS = {path.stem: len(path.read_text().split()) for path in (APP / "texts").glob("*.txt")}


def rows():
    return [line.split("\t") for line in (APP / "counts.tsv").read_text().splitlines()]


def test_there_are_texts():
    assert len(COUNTS) == 5


def test_every_file_is_counted():
    assert {row[0]: int(row[1]) for row in rows()} == COUNTS


def test_most_words_come_first():
    assert [row[0] for row in rows()] == sorted(COUNTS, key=lambda name: (-COUNTS[name], name))
