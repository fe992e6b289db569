from itertools import count

from dialin.dashboard.guard import Access


def counted():
    number = count(1)
    return Access(lambda: f"secret{next(number)}")


def test_a_link_lets_one_browser_in_and_is_spent():
    access = counted()
    token = access.token()
    viewer = access.spend(token)
    assert access.knows(viewer)
    assert access.spend(token) is None


def test_a_token_that_was_never_given_out_lets_nobody_in():
    access = counted()
    token = access.token()
    assert access.spend("") is None
    assert access.spend("secret") is None
    assert not access.knows("")
    assert not access.knows(token), "a link's token is not a browser's secret"
    assert access.spend("s\u00e9cret1") is None


def test_several_links_wait_at_once():
    access = counted()
    first, second = access.token(), access.token()
    assert access.spend(second) != access.spend(first)


def test_links_that_nobody_opens_do_not_pile_up():
    access = counted()
    first = access.token()
    for _ in range(20):
        access.token()
    assert access.spend(first) is None


def test_secrets_cannot_be_guessed():
    access = Access()
    assert len({access.token() for _ in range(20)}) == 20
    assert len(access.token()) >= 32
