-- Each event groups some rows into a temporary table, and sorts some others.

local ROWS = 40000

sysbench.cmdline.options = {}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE facts (id INT PRIMARY KEY, g INT NOT NULL, v INT NOT NULL, pad CHAR(100) NOT NULL) ENGINE=InnoDB")
   con:bulk_insert_init("INSERT INTO facts VALUES")
   for id = 1, ROWS do
      local g, v = sysbench.rand.uniform(1, 1000000), sysbench.rand.uniform(1, 1000000)
      con:bulk_insert_next(string.format("(%d, %d, %d, '%s')", id, g, v, string.rep("x", 90)))
   end
   con:bulk_insert_done()
end

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   local from = sysbench.rand.uniform(1, ROWS - 2000)
   con:query(string.format("SELECT g, COUNT(*) AS n, MAX(pad) FROM facts WHERE id BETWEEN %d AND %d GROUP BY g ORDER BY n",
                           from, from + 999))
   con:query(string.format("SELECT id, pad FROM facts WHERE id BETWEEN %d AND %d ORDER BY v", from, from + 1999))
end

function thread_done()
   con:disconnect()
end
