"""Servers that answer probes as real ones did."""

from dialin.errors import ServerError


class RefusalError(ServerError):
    def __init__(self, number):
        super().__init__(f"The server refused it: error {number}")
        self.number = number


class Asked:
    """Answers a statement by the first of the given words that it holds: with rows, or with an error's number."""

    def __init__(self, answers):
        self.answers, self.statements = dict(answers), []

    def __call__(self, statement, arguments=()):
        self.statements.append(statement)
        answer_rows = next((answer for words, answer in self.answers.items() if words in statement), 1146)
        if isinstance(answer_rows, int):
            raise RefusalError(answer_rows)
        return list(answer_rows)
