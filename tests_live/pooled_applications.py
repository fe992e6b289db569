"""Applications with a pool of connections, which count their own transactions: two on SQLAlchemy with its defaults, autocommit
off, and the shop of django-oscar, which switches it off and on for each request."""

import json
import random
import shutil
import subprocess
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy
from sqlalchemy import ForeignKey, String, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload

ZONE = "+03:00"
"""What the pool of the bank sets when it opens a connection, before the log begins."""


class Application:
    """Works in some threads; every transaction that it began was committed or rolled back.

    AUTOCOMMIT_OFF are the sessions that a capture should know to have it off.
    """

    WORKERS = AUTOCOMMIT_OFF = 4
    INIT = ""

    def __init__(self, sandbox):
        options = {"unix_socket": str(sandbox.socket), **({"init_command": self.INIT} if self.INIT else {})}
        self.engine = sqlalchemy.create_engine(
            "mysql+pymysql://root@localhost/shop", connect_args=options, pool_size=self.WORKERS
        )
        self.committed = self.rolled_back = 0
        self._lock = threading.Lock()

    def open_pool(self):
        connections = [self.engine.connect() for _ in range(self.WORKERS)]
        for connection in connections:
            connection.close()

    def close_pool(self):
        self.engine.dispose()

    def rows(self, query):
        """All rows that it changes."""
        return [query(sql) for sql in self.ROWS]

    def work(self, seconds):
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self._serve, args=(seed, until)) for seed in range(self.WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.close_pool()

    def _serve(self, seed, until):
        choice = random.Random(seed)
        while time.monotonic() < until:
            is_committed = self.serve_one(choice)
            with self._lock:
                self.committed += is_committed
                self.rolled_back += not is_committed
            time.sleep(choice.random() * 0.01)


class Bank(Application):
    """Moves money between accounts; every fifth transaction it takes back."""

    ACCOUNTS = 200
    INIT = f"SET time_zone = '{ZONE}'"
    ROWS = ("SELECT id, money, moves FROM account ORDER BY id",)

    def prepare(self):
        rows = ", ".join(f"({number}, 1000, 0, '')" for number in range(1, self.ACCOUNTS + 1))
        with self.engine.begin() as connection:
            for statement in (
                "CREATE TABLE account (id INT PRIMARY KEY, money INT NOT NULL, moves INT NOT NULL, zone VARCHAR(9))",
                f"INSERT INTO account VALUES {rows}",
            ):
                connection.exec_driver_sql(statement)

    def serve_one(self, choice):
        takes_back, amount = choice.random() < 0.2, choice.randint(1, 99)
        first, second = sorted(choice.sample(range(1, self.ACCOUNTS + 1), 2))
        move = "UPDATE account SET money = money + :change, moves = moves + 1, zone = @@time_zone WHERE id = :id"
        with self.engine.connect() as connection:
            for number, change in ((first, amount), (second, -amount)):
                connection.execute(sqlalchemy.text(move), {"change": change, "id": number})
            if takes_back:
                connection.rollback()
            else:
                connection.commit()
        return not takes_back


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(60), unique=True)
    seen: Mapped[datetime | None]
    visits: Mapped[int] = mapped_column(default=0)


class Product(Base):
    __tablename__ = "product"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(80), index=True)
    price: Mapped[int]
    stock: Mapped[int]


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id"))
    at: Mapped[datetime]
    total: Mapped[int] = mapped_column(default=0)
    user: Mapped[User] = relationship()
    lines: Mapped[list["Line"]] = relationship(back_populates="order")


class Line(Base):
    __tablename__ = "line"
    id: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"))
    product_id: Mapped[int] = mapped_column(ForeignKey("product.id"))
    n: Mapped[int]
    order: Mapped[Order] = relationship(back_populates="lines")
    product: Mapped[Product] = relationship()


class Shop(Application):
    """Customers look, buy until something is sold out, change their profile and register, some under a name that is taken."""

    WORKERS = AUTOCOMMIT_OFF = 6
    # A log does not say which of two rows that were inserted at the same time got which number.
    ROWS = (
        "SELECT name, visits, seen FROM user ORDER BY name",
        "SELECT id, stock FROM product ORDER BY id",
        "SELECT user_id, total, at FROM orders ORDER BY user_id, total, at",
        "SELECT product_id, n FROM line ORDER BY product_id, n",
    )

    def prepare(self):
        Base.metadata.create_all(self.engine)
        choice = random.Random(0)
        with Session(self.engine) as session:
            session.add_all(User(name=f"u{number}") for number in range(1, 301))
            session.add_all(
                Product(name=f"p{choice.randint(1, 99)}", price=choice.randint(1, 99), stock=choice.randint(5, 60))
                for _ in range(500)
            )
            session.commit()

    def serve_one(self, choice):
        kind = choice.random()
        with Session(self.engine) as session:
            if kind < 0.5:
                session.scalars(select(Product).where(Product.name.like(f"p{choice.randint(1, 99)}%")).limit(10)).all()
                session.scalar(select(func.count()).select_from(Product))
                return False
            if kind < 0.75:
                return self._buy(session, choice)
            if kind < 0.85:
                session.get(User, choice.randint(1, 300)).seen = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
            elif kind < 0.95:
                orders = select(Order).where(Order.user_id == choice.randint(1, 300))
                lines = selectinload(Order.lines).joinedload(Line.product)
                session.scalars(orders.options(lines).order_by(Order.id.desc()).limit(5)).all()
                return False
            else:
                session.add(User(name=f"u{choice.randint(1, 3000)}"))
            try:
                session.commit()
            except sqlalchemy.exc.IntegrityError:
                session.rollback()
                return False
            return True

    def _buy(self, session, choice):
        user = session.get(User, choice.randint(1, 300), with_for_update=True)
        order, total = Order(user=user, at=datetime.now(UTC).replace(tzinfo=None, microsecond=0)), 0
        for number in sorted(choice.sample(range(1, 501), choice.randint(1, 4))):
            product, count = session.get(Product, number, with_for_update=True), choice.randint(1, 3)
            if product.stock < count:
                session.rollback()
                return False
            product.stock -= count
            order.lines.append(Line(product=product, n=count))
            total += count * product.price
        order.total = total
        user.visits += 1
        session.add(order)
        session.commit()
        return True


COLUMNS = """
SELECT TABLE_NAME, GROUP_CONCAT(CONCAT('`', COLUMN_NAME, '`') ORDER BY ORDINAL_POSITION) FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = 'shop' AND EXTRA NOT LIKE '%auto_increment%' GROUP BY TABLE_NAME ORDER BY TABLE_NAME
"""


class OscarShop:
    """The shop of django-oscar by its own views: a transaction for each request, on connections that stay open."""

    AUTOCOMMIT_OFF = 0
    PROGRAM = Path(__file__).with_name("oscar_shop.py")

    @staticmethod
    def python():
        """Return the Python that has django-oscar, the one beside `django-admin` on PATH; None without it."""
        if (found := shutil.which("django-admin")) is None:
            return None
        python = Path(found).with_name("python")
        return (
            python
            if subprocess.run([python, "-c", "import oscar, pymysql, sorl"], capture_output=True).returncode == 0
            else None
        )

    def __init__(self, sandbox):
        self._command = [self.python(), self.PROGRAM, sandbox.socket]
        self._process = None

    def prepare(self):
        subprocess.run([*self._command, "prepare"], check=True)

    def open_pool(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen([*self._command, "work"], **pipes)
        assert self._process.stdout.readline() == "open\n"

    def close_pool(self):
        pass  # it ends with each program

    def work(self, seconds):
        out, _ = self._process.communicate(f"{seconds}\n")
        assert self._process.returncode == 0
        counted = json.loads(out)
        assert counted["orders"] > 0
        self.committed, self.rolled_back = counted["committed"], counted["rolled_back"]

    def rows(self, query):
        """All rows of all tables, without numbers that the server gave them."""
        query("SET SESSION group_concat_max_len = 100000")
        return [(table, sorted(map(repr, query(f"SELECT {columns} FROM `{table}`")))) for table, columns in query(COLUMNS)]
