from slugmaker import SlugRegistry


def test_second_claim_gets_a_number():
    reg = SlugRegistry()
    assert [reg.claim("News") for _ in range(3)] == ["news", "news-2", "news-3"]


def test_release():
    reg = SlugRegistry()
    reg.release(reg.claim("News"))
    assert reg.claim("News") == "news"


def test_untitled():
    assert SlugRegistry().claim("???") == "untitled"
