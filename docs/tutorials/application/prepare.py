"""Makes the tables of the shop."""

import os

import pymysql

connection = pymysql.connect(
    unix_socket=os.environ["DB_SOCKET"], user=os.environ["DB_USER"], database=os.environ["DB_NAME"], autocommit=True
)
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE good (id INT PRIMARY KEY, stock INT NOT NULL) ENGINE=InnoDB")
    cursor.execute("CREATE TABLE sale (id BIGINT AUTO_INCREMENT PRIMARY KEY, good INT NOT NULL) ENGINE=InnoDB")
    cursor.executemany("INSERT INTO good VALUES (%s, 1000000)", [(number,) for number in range(1, 1001)])
connection.close()
