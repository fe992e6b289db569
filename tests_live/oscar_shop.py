"""A shop of django-oscar with its own models, views and defaults, run by the Python that has it: see `OscarShop`.

    python oscar_shop.py SOCKET prepare|work

`work` opens a connection for each of its threads, says so, waits for a number of seconds, serves customers for so long, and
prints what it counted.
"""

import json
import random
import sys
import tempfile
import threading
import time
from decimal import Decimal
from types import ModuleType

import pymysql

pymysql.version_info = (2, 2, 1, "final", 0)  # Django asks for a version of mysqlclient
pymysql.install_as_MySQLdb()

import django  # noqa: E402
import oscar  # noqa: E402
from django.apps import apps  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import include, path  # noqa: E402
from oscar import defaults  # noqa: E402

WORKERS, CUSTOMERS, PRODUCTS, PASSWORD = 4, 40, 60, "a long password of a customer"
ADDRESS = {"first_name": "A", "last_name": "B", "line1": "1 High Street", "line4": "London", "postcode": "N1 9RT"}
URLS = "shop_urls"
MEDIA = tempfile.TemporaryDirectory()


def set_up(socket):
    """Configure the shop as the documentation of django-oscar says."""
    templates = {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "oscar.apps.search.context_processors.search_form",
                "oscar.apps.checkout.context_processors.checkout",
                "oscar.apps.communication.notifications.context_processors.notifications",
                "oscar.core.context_processors.metadata",
            ]
        },
    }
    middleware = [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
        "oscar.apps.basket.middleware.BasketMiddleware",
    ]
    database = {"ENGINE": "django.db.backends.mysql", "NAME": "shop", "USER": "root", "HOST": socket}
    settings.configure(
        **{name: getattr(defaults, name) for name in dir(defaults) if name.startswith("OSCAR_")},
        ALLOWED_HOSTS=["*"],
        AUTHENTICATION_BACKENDS=["oscar.apps.customer.auth_backends.EmailBackend"],
        DATABASES={"default": {**database, "ATOMIC_REQUESTS": True, "CONN_MAX_AGE": None}},
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
        HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
        INSTALLED_APPS=[*oscar.INSTALLED_APPS, "sorl.thumbnail"],
        LOGGING_CONFIG=None,
        MEDIA_ROOT=MEDIA.name,
        MIDDLEWARE=middleware,
        ROOT_URLCONF=URLS,
        SECRET_KEY="of a test",
        SITE_ID=1,
        STATIC_URL="/static/",
        TEMPLATES=[templates],
        USE_TZ=True,
    )
    django.setup()
    urls = sys.modules[URLS] = ModuleType(URLS)
    languages = path("i18n/", include("django.conf.urls.i18n"))
    urls.urlpatterns = [languages, path("", include(apps.get_app_config("oscar").urls[0]))]


def prepare():
    from django.contrib.auth.hashers import make_password
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from oscar.test.factories import create_product

    apps.get_model("address", "Country").objects.create(
        iso_3166_1_a2="GB", name="United Kingdom", printable_name="United Kingdom", is_shipping_country=True
    )
    hashed, choice = make_password(PASSWORD), random.Random(0)
    User.objects.bulk_create(
        User(username=f"c{number}", email=f"c{number}@example.com", password=hashed) for number in range(CUSTOMERS)
    )
    for number in range(PRODUCTS):
        price, stock = Decimal(choice.randint(100, 9999)) / 100, choice.randint(2, 30)
        create_product(upc=f"p{number}", title=f"Product {number}", product_class="Books", price=price, num_in_stock=stock)


class Counted:
    """What one connection does, as Django does it: a statement in autocommit, or what a commit or a rollback ends."""

    def __init__(self, connection):
        self.committed = self.rolled_back = self.orders = self.statements = 0
        commit, roll_back = connection._commit, connection._rollback

        def end(how, name):
            if self.statements:
                setattr(self, name, getattr(self, name) + 1)
            self.statements = 0
            return how()

        connection._commit = lambda: end(commit, "committed")
        connection._rollback = lambda: end(roll_back, "rolled_back")
        connection.execute_wrappers.append(self.execute)

    def execute(self, execute, sql, parameters, many, context):
        if context["connection"].get_autocommit():
            self.committed += 1
        else:
            self.statements += 1
        return execute(sql, parameters, many, context)


class Customer:
    """Signs in or registers, looks at products, one of which does not exist, and buys until something is sold out."""

    def __init__(self, choice):
        from django.test import Client

        self.client, self.choice = Client(raise_request_exception=False), choice

    def serve(self, worker, visit):
        if self.choice.random() < 0.2:
            form = {"registration-email": f"new-{worker}-{visit}@example.com", "registration_submit": "1"}
            form |= {f"registration-password{number}": PASSWORD for number in (1, 2)}
        else:
            form = {"login-username": f"c{self.choice.randrange(CUSTOMERS)}@example.com", "login-password": PASSWORD}
            form["login_submit"] = "1"
        self.post("/accounts/login/", form)
        self.get("/catalogue/")
        for _ in range(self.choice.randint(1, 3)):
            number = self.choice.randint(1, PRODUCTS)
            self.get(f"/catalogue/product-{number - 1}_{number}/")
            self.post(f"/basket/add/{number}/", {"quantity": self.choice.randint(1, 3)})
        if self.choice.random() < 0.3:
            self.get("/catalogue/product-0_99999/")
        return self.choice.random() < 0.7 and self.check_out()

    def check_out(self):
        self.get("/checkout/")
        self.post("/checkout/shipping-address/", ADDRESS)
        for page in ("shipping-method", "payment-method", "payment-details"):
            self.get(f"/checkout/{page}/")
        answer = self.post("/checkout/preview/", {"action": "place_order"})
        is_bought = answer.status_code == 302 and answer["Location"].endswith("/thank-you/")
        if is_bought:
            self.get("/checkout/thank-you/")
        return is_bought

    def get(self, page):
        return self.client.get(page)

    def post(self, page, form):
        return self.client.post(page, form)


def serve(worker, is_open, begin, until, counts):
    from django.db import connection

    connection.ensure_connection()
    counted = counts[worker] = Counted(connection)
    is_open.release()
    begin.wait()
    choice, visit = random.Random(worker), 0
    while time.monotonic() < until[0]:
        visit += 1
        counted.orders += Customer(choice).serve(worker, visit)
    connection.close()


def work():
    is_open, begin, until, counts = threading.Semaphore(0), threading.Event(), [0.0], {}
    threads = [threading.Thread(target=serve, args=(n, is_open, begin, until, counts)) for n in range(WORKERS)]
    for thread in threads:
        thread.start()
    for _ in threads:
        is_open.acquire()
    sys.stdout.write("open\n")
    sys.stdout.flush()
    until[0] = time.monotonic() + float(sys.stdin.readline())
    begin.set()
    for thread in threads:
        thread.join()
    names = ("committed", "rolled_back", "orders")
    json.dump({name: sum(getattr(one, name) for one in counts.values()) for name in names}, sys.stdout)


if __name__ == "__main__":
    set_up(sys.argv[1])
    if sys.argv[2] == "prepare":
        prepare()
    else:
        work()
    MEDIA.cleanup()
