-- Each transaction rewrites a large row and puts small ones at random places of a secondary index.

local LARGE, SMALL, BYTES = 1000, 100000, 40000

sysbench.cmdline.options = {}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE large (id INT PRIMARY KEY, body MEDIUMBLOB NOT NULL) ENGINE=InnoDB")
   for id = 1, LARGE do
      con:query(string.format("INSERT INTO large VALUES (%d, REPEAT('a', %d))", id, BYTES))
   end
   con:query("CREATE TABLE small (id INT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, pad CHAR(100) NOT NULL) ENGINE=InnoDB")
   con:bulk_insert_init("INSERT INTO small (a, pad) VALUES")
   for id = 1, SMALL do
      con:bulk_insert_next(string.format("(%d, '%s')", sysbench.rand.uniform(1, SMALL), string.rep("b", 100)))
   end
   con:bulk_insert_done()
   con:query("CREATE INDEX by_a ON small (a)")
end

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   local a = sysbench.rand.uniform(1, SMALL)
   con:query(string.format("SELECT COUNT(pad) FROM small WHERE a BETWEEN %d AND %d", a, a + 20))
   con:query("BEGIN")
   for _ = 1, 3 do
      con:query(string.format("INSERT INTO small (a, pad) VALUES (%d, 'c')", sysbench.rand.uniform(1, SMALL)))
   end
   local letter = string.char(97 + sysbench.rand.uniform(0, 25))
   local id = sysbench.rand.uniform(1, LARGE)
   con:query(string.format("UPDATE large SET body = REPEAT('%s', %d) WHERE id = %d", letter, BYTES, id))
   con:query("COMMIT")
end

function thread_done()
   con:disconnect()
end
