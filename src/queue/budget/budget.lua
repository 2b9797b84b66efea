-- Reservations and charges of model requests. Redis executes the script atomically, so that two gateways cannot reserve
-- the same amount. Times are those of the server, because the workers' clocks differ.
--
-- Key: the prefix of all keys. Arguments: the name of an operation, and its argument as JSON, see budget-ledger.ts.
-- Reply: `ok`, or JSON.
--
-- `spent:<scope>` is a hash of the spent (`usd`, `tokens`) and reserved (`held_usd`, `held_tokens`) amounts; a missing
-- hash means that the amounts are unknown. `hold:<id>` is the reservation of one request, and `leases` holds its
-- expiry: an expired reservation counts as spent. `window:<model>` holds the requests of the last minute, and
-- `load:<model>` their tokens; `hour:<model>:<n>` is the number of requests of an hour. `cool:<model>#<key>` exists while
-- a provider requests a pause for a key, and `refused:<model>#<key>` while a refused key is not used; the value is the time
-- of that answer, by the clock of the worker.

local prefix, r = KEYS[1], cjson.decode(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local KEEP = 8 * 86400
local HOUR = 3600000
local hour = math.floor(now / HOUR)

-- Avoids "-0", which Redis does not accept as an integer.
local function whole(n) return string.format('%.0f', n + 0) end

local function add(scope, usd, tokens, held)
  local key = prefix .. 'spent:' .. scope
  if redis.call('EXISTS', key) == 0 then return end
  local mark = held and 'held_' or ''
  redis.call('HINCRBY', key, mark .. 'usd', whole(usd))
  redis.call('HINCRBY', key, mark .. 'tokens', whole(tokens))
  redis.call('EXPIRE', key, KEEP)
end

local function hold(id, record)
  redis.call('SET', prefix .. 'hold:' .. id, cjson.encode(record), 'EX', KEEP)
  for _, scope in ipairs(record.scopes) do add(scope, record.usd, record.tokens, true) end
end

-- Moves a reservation to the spent amount. The record is kept in case its gateway is still alive.
local function charge(id)
  local text = redis.call('GET', prefix .. 'hold:' .. id)
  redis.call('ZREM', prefix .. 'leases', id)
  if not text then return nil end
  local record = cjson.decode(text)
  if record.charged then return nil end
  record.charged = true
  redis.call('SET', prefix .. 'hold:' .. id, cjson.encode(record), 'EX', KEEP)
  for _, scope in ipairs(record.scopes) do
    add(scope, -record.usd, -record.tokens, true)
    add(scope, record.usd, record.tokens, false)
  end
  return record
end

-- The time for which a key is blocked, or 0. A command of a user that is later may try whether it still is.
local function blockOf(what, key)
  local name = prefix .. what .. ':' .. r.model .. '#' .. key
  local ms = redis.call('PTTL', name)
  if ms > 0 and (r.since or 0) <= tonumber(redis.call('GET', name) or '0') then return ms end
  return 0
end

-- The first key that is not blocked, and the time until there is one. No request waits for refused keys: if there are no
-- others, the one that was refused first is tried again.
local function chooseKey()
  local wait, again, least
  for _, key in ipairs(r.keys) do
    local refused, cool = blockOf('refused', key), blockOf('cool', key)
    if refused == 0 and cool == 0 then return key, 0 end
    if refused == 0 then
      if not wait or cool < wait then wait = cool end
    elseif not least or refused < least then
      again, least = key, refused
    end
  end
  return again, wait or 0
end

-- The time until requests to the model are allowed: `ms`, and `why`; nil if they are allowed now.
local function pauseOf()
  local _, cool = chooseKey()
  if cool > 0 then return { kind = 'wait', ms = cool, why = 'cooling' } end
  if not r.rph then return nil end
  local count = tonumber(redis.call('GET', prefix .. 'hour:' .. r.model .. ':' .. hour) or '0')
  if count >= r.rph then return { kind = 'wait', ms = (hour + 1) * HOUR - now, why = 'hour', hour = hour } end
end

local operations = {}

-- Replies with the pause of a model, or `ok`.
function operations.findPause()
  local pause = pauseOf()
  return pause and cjson.encode(pause) or 'ok'
end

-- Reserves what the budgets allow. Replies `granted`, `wait`, `full` or, when a scope is not known, `unknown`.
function operations.reserve()
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'leases', '-inf', now, 'LIMIT', 0, 1000)) do charge(id) end

  -- A retry, because the first reply was lost: release the first reservation.
  local before = redis.call('GET', prefix .. 'hold:' .. r.id)
  if before then
    -- It is counted again below.
    if r.rph then redis.call('DECR', prefix .. 'hour:' .. r.model .. ':' .. hour) end
    local record = cjson.decode(before)
    for _, key in ipairs(record.scopes) do add(key, -record.usd, -record.tokens, not record.charged) end
    redis.call('DEL', prefix .. 'hold:' .. r.id)
  end

  local scopes, output, full = {}, r.output, nil
  for _, scope in ipairs(r.scopes) do
    local key = prefix .. 'spent:' .. scope.key
    local known = redis.call('HMGET', key, 'usd', 'tokens', 'held_usd', 'held_tokens')
    if not known[1] then return cjson.encode({ kind = 'unknown', scope = scope.name }) end
    table.insert(scopes, scope.key)
    for at, unit in ipairs({ 'usd', 'tokens' }) do
      if scope[unit] then
        local spent, held = tonumber(known[at]), tonumber(known[at + 2])
        local input = unit == 'usd' and r.inputUsd or r.input
        local each = unit == 'usd' and r.outputPrice or 1
        local room = scope[unit] - spent - held - input
        local fits = each > 0 and math.floor(room / each) or (room >= 0 and r.output or -1)
        local needed = input + math.ceil(r.least * each)
        if fits < r.least and (not full or spent + needed > scope[unit]) then
          full = {
            kind = 'full', scope = scope.name, unit = unit, limit = scope[unit],
            spent = spent, reserved = held, needed = needed,
          }
        end
        if fits < output then output = fits end
      end
    end
  end
  if full then return cjson.encode(full) end

  local pause = pauseOf()
  if pause then return cjson.encode(pause) end

  local window, load = prefix .. 'window:' .. r.model, prefix .. 'load:' .. r.model
  local past = redis.call('ZRANGEBYSCORE', window, '-inf', now - 60000)
  for _, id in ipairs(past) do
    redis.call('HINCRBY', load, 'sum', -tonumber(redis.call('HGET', load, id) or '0'))
    redis.call('HDEL', load, id)
    redis.call('ZREM', window, id)
  end
  local count = redis.call('ZCARD', window)
  local sum = tonumber(redis.call('HGET', load, 'sum') or '0')
  local wait = 0
  if r.rpm and count >= r.rpm then
    wait = tonumber(redis.call('ZRANGE', window, count - r.rpm, count - r.rpm, 'WITHSCORES')[2]) + 60000 - now
  end
  -- A request larger than the whole limit gets a minute of its own.
  if r.tpm and count > 0 and sum + r.input > r.tpm then
    local excess, at = sum + r.input - r.tpm, 0
    while excess > 0 and at < count do
      local oldest = redis.call('ZRANGE', window, at, at, 'WITHSCORES')
      excess = excess - tonumber(redis.call('HGET', load, oldest[1]) or '0')
      wait = math.max(wait, tonumber(oldest[2]) + 60000 - now)
      at = at + 1
    end
  end
  if wait > 0 then return cjson.encode({ kind = 'wait', ms = wait, why = 'rate' }) end
  if r.rpm or r.tpm then
    redis.call('ZADD', window, now, r.id)
    redis.call('HSET', load, r.id, whole(r.input))
    redis.call('HINCRBY', load, 'sum', whole(r.input))
    redis.call('PEXPIRE', window, 120000)
    redis.call('PEXPIRE', load, 120000)
  end
  if r.rph then
    local key = prefix .. 'hour:' .. r.model .. ':' .. hour
    redis.call('INCR', key)
    redis.call('PEXPIRE', key, 2 * HOUR)
  end

  local usd = r.inputUsd + math.ceil(output * r.outputPrice)
  hold(r.id, { scopes = scopes, usd = usd, tokens = r.input + output })
  redis.call('ZADD', prefix .. 'leases', now + r.leaseMs, r.id)
  local granted = { kind = 'granted', output = output, usd = usd, tokens = r.input + output, hour = hour }
  granted.key = chooseKey()
  return cjson.encode(granted)
end

-- Renews the leases of reservations, and restores reservations that a wiped server lost.
function operations.renew()
  for _, held in ipairs(r.holds) do
    if redis.call('EXISTS', prefix .. 'hold:' .. held.id) == 0 then
      hold(held.id, { scopes = held.scopes, usd = held.usd, tokens = held.tokens })
      redis.call('ZADD', prefix .. 'leases', now + r.leaseMs, held.id)
    else
      redis.call('ZADD', prefix .. 'leases', 'XX', now + r.leaseMs, held.id)
    end
  end
  return 'ok'
end

-- Replaces a reservation by the actual cost. Replies with a budget that is now overdrawn (`over`) and those of which four
-- fifths have just been spent (`near`), or `ok`.
function operations.settle()
  local key = prefix .. 'hold:' .. r.id
  local text = redis.call('GET', key)
  local held = text and cjson.decode(text) or { usd = 0, tokens = 0, charged = true }
  local over, near = nil, {}
  for _, scope in ipairs(r.scopes) do
    if held.charged then
      add(scope.key, r.charge.usd - held.usd, r.charge.tokens - held.tokens, false)
    else
      add(scope.key, -held.usd, -held.tokens, true)
      add(scope.key, r.charge.usd, r.charge.tokens, false)
    end
    local known = redis.call('HMGET', prefix .. 'spent:' .. scope.key, 'usd', 'tokens', 'held_usd', 'held_tokens')
    for at, unit in ipairs({ 'usd', 'tokens' }) do
      local spent = tonumber(known[at] or '0')
      local added = r.charge[unit] - (held.charged and held[unit] or 0)
      if scope[unit] and spent >= scope[unit] * 0.8 and spent - added < scope[unit] * 0.8 then
        table.insert(near, { scope = scope.name, unit = unit, limit = scope[unit], spent = spent })
      end
      if not over and scope[unit] and spent > scope[unit] then
        local reserved = tonumber(known[at + 2] or '0')
        over = {
          kind = 'over', scope = scope.name, unit = unit, limit = scope[unit],
          spent = spent, reserved = reserved, needed = 0,
        }
      end
    end
  end
  redis.call('DEL', key)
  redis.call('ZREM', prefix .. 'leases', r.id)
  local load = prefix .. 'load:' .. r.model
  local before = redis.call('HGET', load, r.id)
  if before then
    redis.call('HSET', load, r.id, whole(r.charge.load))
    redis.call('HINCRBY', load, 'sum', whole(r.charge.load - tonumber(before)))
  end
  if not over and #near == 0 then return 'ok' end
  return cjson.encode({ over = over, near = #near > 0 and near or nil })
end

-- Restores the spent amounts of a scope from the journals. Never lowers a stored amount.
function operations.restore()
  local key = prefix .. 'spent:' .. r.scope
  for _, unit in ipairs({ 'usd', 'tokens' }) do
    local known = tonumber(redis.call('HGET', key, unit) or '-1')
    if r[unit] > known then redis.call('HSET', key, unit, whole(r[unit])) end
    redis.call('HSETNX', key, 'held_' .. unit, '0')
  end
  redis.call('EXPIRE', key, KEEP)
  return 'ok'
end

-- Counts the reservations of an owner's dead gateways as spent, and replies with them.
function operations.chargeAbandoned()
  local found = {}
  for _, id in ipairs(redis.call('ZRANGE', prefix .. 'leases', 0, -1)) do
    if string.sub(id, 1, string.len(r.owner)) == r.owner then
      local record = charge(id)
      if record then table.insert(found, { usd = record.usd, tokens = record.tokens }) end
    end
  end
  return #found == 0 and '[]' or cjson.encode(found)
end

-- Blocks all requests to a model with a key. Never shortens a longer pause.
function operations.pauseKey()
  local key = prefix .. (r.refused and 'refused:' or 'cool:') .. r.model .. '#' .. r.key
  local ms = math.max(redis.call('PTTL', key), r.ms)
  redis.call('SET', key, whole(r.at), 'PX', whole(ms))
  return 'ok'
end

return operations[ARGV[1]]()
