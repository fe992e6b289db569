"""What customers do."""

import random

from locust import FastHttpUser, task


class Customer(FastHttpUser):
    @task(1)
    def look(self):
        self.client.get(f"/goods/{random.randint(1, 1000)}", name="look")

    @task(2)
    def buy(self):
        self.client.post("/buy", name="buy")
