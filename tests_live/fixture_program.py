"""A load program for tests: really runs some statements a second, and prints lines as go-tpc does.

Its first argument says how it behaves.
"""

import os
import signal
import sys
import time

import pymysql


def main(behaviour, socket, user, database):
    if behaviour == "dies":
        sys.stdout.write("out of luck\n")
        sys.exit(3)
    if behaviour == "silent":
        time.sleep(600)
    if behaviour == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if behaviour == "forks" and os.fork():
        return  # the child goes on in a session of its own
    if behaviour == "forks":
        os.setsid()
    password = os.environ.get("MYSQL_PWD", "")
    connection = pymysql.connect(unix_socket=socket, user=user, password=password, database=database, autocommit=True)
    last, count, spent = time.monotonic(), 0, 0.0
    with connection.cursor() as cursor:
        while True:
            began = time.monotonic()
            cursor.execute("SELECT COUNT(*) FROM information_schema.tables")
            cursor.fetchall()
            count, spent = count + 1, spent + time.monotonic() - began
            time.sleep(0.02)
            if (passed := time.monotonic() - last) >= 0.5:
                mean = f"{1000 * spent / count:.1f}"
                form = "speed {}" if behaviour == "other" else "[Current] {} - Takes(s): {:.1f}, Count: {}, Avg(ms): {}"
                for kind in ("LOOK", "SEE"):
                    sys.stdout.write(form.format(kind, passed, count, mean) + "\n")
                    sys.stdout.flush()
                last, count, spent = time.monotonic(), 0, 0.0


main(*sys.argv[1:])
