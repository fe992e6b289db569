-- Each event makes three connections, asks something on each, and lets them go. One that is refused is done without.

local ROWS = 20

sysbench.cmdline.options = {}

function prepare()
   local con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE few (id INT PRIMARY KEY, v CHAR(100) NOT NULL) ENGINE=InnoDB")
   for id = 1, ROWS do
      con:query(string.format("INSERT INTO few VALUES (%d, REPEAT('%s', 80))", id, string.char(96 + id)))
   end
end

function thread_init()
   driver = sysbench.sql.driver()
end

function event()
   local made = {}
   for _ = 1, 3 do
      local there, con = pcall(driver.connect, driver)
      if there then
         con:query("SELECT v FROM few WHERE id = " .. sysbench.rand.uniform(1, ROWS))
         made[#made + 1] = con
      end
   end
   for _, con in ipairs(made) do
      con:disconnect()
   end
end

function thread_done()
end
