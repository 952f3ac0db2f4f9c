-- What Neovim gets of our server, and whether it is right.
local said = assert(io.open(os.getenv("ANSWERS"), "w"))
local passed, failed = 0, 0
local function check(name, is_true, what)
  if is_true then
    passed = passed + 1
    said:write("ok      ", name, "\n")
  else
    failed = failed + 1
    said:write("FAILED  ", name, ": ", vim.inspect(what), "\n")
  end
end
local function ask(method, more)
  local asked = vim.tbl_extend("force", vim.lsp.util.make_position_params(), more or {})
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, asked, 5000) or {}) do
    return answer.result
  end
end
local function go(text)
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  vim.fn.search("\\V" .. text)
end

local ok, trouble = pcall(function()
  check("the settings start the server", vim.wait(5000, function() return #vim.lsp.get_active_clients() == 1 end, 50))
  check("nothing is found at first", #vim.diagnostic.get(0) == 0, vim.diagnostic.get(0))
  go("Cost(")
  local hover = ask("textDocument/hover")
  check("hover", hover and hover.contents.value:find("What so many tickets cost", 1, true), hover)
  local places = ask("textDocument/definition")
  check("definition", places and #places == 1 and places[1].uri:find("prices.md", 1, true) and places[1].range.start.line == 0, places)
  vim.lsp.buf.definition()
  check("it goes there", vim.wait(5000, function() return vim.fn.expand("%:t") == "prices.md" end, 50), vim.fn.expand("%"))
  vim.cmd("edit tickets.md")
  -- As it is typed.
  vim.cmd("normal! Go- $more = Cosst(1, 2)")
  local function found() return vim.diagnostic.get(0)[1] end
  vim.wait(5000, function() return found() ~= nil end, 50)
  check("a finding while typing", found() and found().message:find("Cosst", 1, true) and found().lnum == 32, found())
  vim.cmd("normal! u")
  check("it goes away", vim.wait(5000, function() return found() == nil end, 50), found())
  go("Cost(")
  vim.lsp.buf.rename("Price of tickets")
  check("rename over two files", vim.wait(5000, function() return vim.fn.getline(17) == "- $total = PriceOfTickets($n, $price)" end, 50), vim.fn.getline(17))
  vim.cmd("buffer prices.md")
  check("and the other file", vim.fn.getline(1) == "## Price of tickets($n, $price) -> int", vim.fn.getline(1))
end)
check("no trouble", ok, trouble)
said:write(passed, " passed, ", failed, " failed\n")
said:close()
vim.cmd("qa!")
