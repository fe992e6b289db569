-- Each event joins ten rows with a table whose index is invisible, and asks for one row of a derived table.

local LEFT = 2000

sysbench.cmdline.options = {
   rows = {"Rows of the table whose index is invisible", 3000},
}

local function fill(con, table, rows, row)
   con:bulk_insert_init("INSERT INTO " .. table .. " VALUES")
   for id = 1, rows do
      con:bulk_insert_next(row(id))
   end
   con:bulk_insert_done()
end

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE a (id INT PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB")
   con:query("CREATE TABLE b (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY by_k (k) INVISIBLE) ENGINE=InnoDB")
   fill(con, "a", LEFT, function(id) return string.format("(%d, %d)", id, id % 7) end)
   fill(con, "b", sysbench.opt.rows, function(id) return string.format("(%d, %d, %d)", id, sysbench.rand.uniform(1, LEFT), id % 7) end)
   con:query("ANALYZE TABLE a, b")
end

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   local from = sysbench.rand.uniform(1, LEFT - 10)
   con:query(string.format("SELECT SUM(b.v) FROM a STRAIGHT_JOIN b ON b.k = a.id WHERE a.id BETWEEN %d AND %d",
                           from, from + 9))
   con:query("SELECT d.v FROM (SELECT id, v FROM a) AS d WHERE d.id = " .. from)
end

function thread_done()
   con:disconnect()
end
