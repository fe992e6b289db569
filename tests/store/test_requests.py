from dialin.store import requests


def test_a_study_is_asked_to_stop_and_that_is_taken_back(tmp_path):
    assert not requests.is_asked_to_stop(tmp_path)
    requests.ask_to_stop(tmp_path)
    requests.ask_to_stop(tmp_path)
    assert requests.is_asked_to_stop(tmp_path)
    requests.take_back(tmp_path)
    requests.take_back(tmp_path)
    assert not requests.is_asked_to_stop(tmp_path)
