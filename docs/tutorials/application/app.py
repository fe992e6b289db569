"""A shop in front of MySQL, as small as can be: it lists goods and sells them."""

import os
import random
import threading

import pymysql
from flask import Flask

app = Flask(__name__)
local = threading.local()


def query(sql, *values):
    if not hasattr(local, "connection"):
        local.connection = pymysql.connect(
            unix_socket=os.environ["DB_SOCKET"], user=os.environ["DB_USER"], database=os.environ["DB_NAME"], autocommit=True
        )
    with local.connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


@app.get("/goods/<int:number>")
def good(number):
    return {"stock": query("SELECT stock FROM good WHERE id = %s", number)[0][0]}


@app.post("/buy")
def buy():
    number = random.randint(1, 1000)
    query("UPDATE good SET stock = stock - 1 WHERE id = %s", number)
    query("INSERT INTO sale (good) VALUES (%s)", number)
    return {"bought": number}


app.run(port=int(os.environ["APP_PORT"]), threaded=True)
