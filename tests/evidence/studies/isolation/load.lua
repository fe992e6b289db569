-- The first thread begins a transaction with a snapshot and never ends it. Each other one updates a row of its own among few,
-- which no index finds, and rows of its own among many.

local FEW, OWN, MOST = 20, 1000, 64

sysbench.cmdline.options = {}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE few (id INT PRIMARY KEY, u INT NOT NULL, v INT NOT NULL) ENGINE=InnoDB")
   for id = 1, FEW do
      con:query(string.format("INSERT INTO few VALUES (%d, %d, 0)", id, id))
   end
   con:query("CREATE TABLE many (id INT PRIMARY KEY, v INT NOT NULL) ENGINE=InnoDB")
   con:bulk_insert_init("INSERT INTO many VALUES")
   for id = 1, OWN * MOST do
      con:bulk_insert_next(string.format("(%d, 0)", id))
   end
   con:bulk_insert_done()
end

function thread_init()
   con = sysbench.sql.driver():connect()
   if sysbench.tid == 0 then
      con:query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
      con:query("SELECT COUNT(*) FROM few")
   end
end

function event()
   if sysbench.tid == 0 then
      con:query("SELECT SLEEP(0.1)")
      return
   end
   con:query("BEGIN")
   con:query("UPDATE few SET v = v + 1 WHERE u = " .. sysbench.tid)
   con:query("SELECT COUNT(*) FROM many WHERE id < 100")
   con:query("COMMIT")
   for _ = 1, 10 do
      con:query("UPDATE many SET v = v + 1 WHERE id = " .. sysbench.tid * OWN + sysbench.rand.uniform(1, OWN))
   end
end

function thread_done()
   con:disconnect()
end
