from slugmaker import slugify


def test_lower_case_and_punctuation():
    assert slugify("Hello, World!") == "hello-world"


def test_marks_are_dropped():
    assert slugify("Crème brûlée") == "creme-brulee"


def test_special_letters():
    assert slugify("Straße") == "strasse"


def test_separator():
    assert slugify("a b  c", separator="_") == "a_b_c"


def test_nothing_left():
    assert slugify("!!!") == ""
