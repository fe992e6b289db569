-- Each event looks for rows by an index in a table of MyISAM and in one of Aria, and adds a row to the first.

local ROWS = 100000

sysbench.cmdline.options = {}

local function make(con, name, engine)
   con:query(string.format(
      "CREATE TABLE %s (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, pad CHAR(60) NOT NULL, KEY by_k (k)) ENGINE=%s",
      name, engine))
   con:bulk_insert_init("INSERT INTO " .. name .. " (k, pad) VALUES")
   for _ = 1, ROWS do
      con:bulk_insert_next(string.format("(%d, '%s')", sysbench.rand.uniform(1, ROWS), string.rep("x", 60)))
   end
   con:bulk_insert_done()
end

function prepare()
   local con = sysbench.sql.driver():connect()
   make(con, "mine", "MyISAM")
   make(con, "theirs", "Aria TRANSACTIONAL=0")
end

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   local k = sysbench.rand.uniform(1, ROWS)
   con:query(string.format("SELECT COUNT(pad) FROM mine WHERE k BETWEEN %d AND %d", k, k + 100))
   con:query(string.format("SELECT COUNT(pad) FROM theirs WHERE k BETWEEN %d AND %d", k, k + 50))
   con:query(string.format("INSERT INTO mine (k, pad) VALUES (%d, 'y')", k))
end

function thread_done()
   con:disconnect()
end
