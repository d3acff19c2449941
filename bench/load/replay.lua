-- Sends the requests of a file in order: a line with the length of each, then its bytes.
-- The file's name is the first argument. With a second one, "again", it begins anew at the
-- end; without, the file holds more requests than can be sent in time.
local requests
local is_endless = false
local is_exhausted = false

function init(args)
  requests = assert(io.open(args[1], "rb"))
  is_endless = args[2] == "again"
end

function request()
  local length = requests:read("*l")
  if not length and is_endless then
    requests:seek("set")
    length = requests:read("*l")
  end
  if not length then
    is_exhausted = true
    wrk.thread:stop()
    return wrk.format("GET", "/health")
  end
  return requests:read(tonumber(length))
end

local threads = {}
function setup(thread)
  table.insert(threads, thread)
end

function done(summary, latency)
  local is_short = threads[1]:get("is_exhausted") and "true" or "false"
  io.write(string.format(
    '\nSUMMARY {"requests": %d, "duration_us": %d, "status_errors": %d, "socket_errors": %d, ' ..
    '"p50_us": %d, "p99_us": %d, "is_exhausted": %s}\n',
    summary.requests, summary.duration, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99), is_short))
end
