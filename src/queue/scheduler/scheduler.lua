-- Assigns slots to jobs. Redis executes the script atomically, so that concurrent calls never exceed a limit.
--
-- Keys: jobs (hash: id to entry as JSON), leases (sorted set: id of a job with a slot, by expiry in ms), served (sorted
-- set: users by their last slot, runs by their first), workers (hash: id to registration as JSON), a counter, drains
-- (hash: id of a worker to 1, it must drain, or 0, it may take jobs again).
-- Argument: a `SchedulerUpdate` as JSON, see scheduler.ts. All times are those of the server.
-- Reply: the entry that may start or '', ms until the next delayed job is due or -1, whether the worker of the update or
-- of `drain` is registered (1), drains (2) or neither (0), then ids and entries of the jobs that received a slot.

local jobs, leases, served, workers, counter, drains = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local ask = cjson.decode(ARGV[1])
local limits = ask.limits
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

redis.call('ZREMRANGEBYSCORE', leases, '-inf', now)
local all, leased = {}, {}
local flat = redis.call('HGETALL', jobs)
for i = 1, #flat, 2 do all[flat[i]] = cjson.decode(flat[i + 1]) end
for _, id in ipairs(redis.call('ZRANGE', leases, 0, -1)) do
  if all[id] then leased[id] = true else redis.call('ZREM', leases, id) end
end
-- A lease or a delay that is longer than it was made was made while the clock of the server was ahead.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', leases, '(' .. (now + ask.leaseMs), '+inf')) do
  redis.call('ZADD', leases, now + ask.leaseMs, id)
end
local function isDue(entry)
  return entry.readyAt <= now or (entry.delayMs ~= nil and entry.readyAt - now > entry.delayMs)
end

local function keep(id, entry)
  all[id] = entry
  redis.call('HSET', jobs, id, cjson.encode(entry))
end
local function lease(id)
  leased[id] = true
  redis.call('ZADD', leases, now + ask.leaseMs, id)
end
local function release(id)
  leased[id] = nil
  redis.call('ZREM', leases, id)
end
local order = {}
local function orderOf(name)
  order[name] = order[name] or tonumber(redis.call('ZSCORE', served, name) or 0)
  return order[name]
end
local function note(name)
  order[name] = redis.call('INCR', counter)
  redis.call('ZADD', served, order[name], name)
end
-- From its first slot on a run keeps its rank among the runs of its user.
local function start(runId)
  if orderOf('run ' .. runId) == 0 then note('run ' .. runId) end
end

for _, job in ipairs(ask.offer or {}) do
  local id, old = job.id, all[job.id]
  if job.started then start(job.runId) end
  job.started = nil
  job.readyAt = now + job.delayMs
  job.id = nil
  if old then
    -- A repeated offer neither delays a job nor lowers its rank.
    if old.readyAt < job.readyAt then job.readyAt, job.delayMs = old.readyAt, old.delayMs end
    job.queuedAt = old.queuedAt and math.min(old.queuedAt, job.readyAt)
    job.seq = old.seq
    job.host = old.host
    -- The old lane belonged to a process that is dead.
    if old.lane ~= job.lane then release(id) end
  else
    job.queuedAt = job.readyAt
    job.seq = redis.call('INCR', counter)
  end
  keep(id, job)
end
-- Running jobs count, even if the server lost them.
for id, entry in pairs(ask.working or {}) do
  if not all[id] then keep(id, entry) end
  lease(id)
end
if ask.finish then
  release(ask.finish)
  redis.call('HDEL', jobs, ask.finish)
  all[ask.finish] = nil
end
if ask.later and all[ask.later.id] then
  local entry = all[ask.later.id]
  release(ask.later.id)
  entry.host = nil
  entry.readyAt = now + ask.later.delayMs
  entry.delayMs = ask.later.delayMs
  entry.queuedAt = entry.readyAt
  keep(ask.later.id, entry)
end
if ask.dropLane then
  for id, entry in pairs(all) do
    if entry.lane == ask.dropLane then
      release(id)
      redis.call('HDEL', jobs, id)
      all[id] = nil
    end
  end
end
local standing = 0
local function register(worker)
  redis.call('HSET', workers, worker.id, cjson.encode(worker))
  standing = worker.draining and 2 or 1
end
if ask.worker then
  local worker = ask.worker
  if worker.slots == 0 then
    redis.call('HDEL', workers, worker.id)
    redis.call('HDEL', drains, worker.id)
  else
    -- What the worker remembers counts only if the order is lost.
    local order = redis.call('HGET', drains, worker.id)
    if order then worker.draining = order == '1' end
    worker.lapses = now + ask.workerMs
    register(worker)
  end
end
if ask.drain then
  local id, draining = ask.drain.id, ask.drain.draining
  local text = redis.call('HGET', workers, id)
  local worker = text and cjson.decode(text)
  if worker and worker.lapses > now then
    -- Kept apart, for a worker whose registration lapses before it learns of the order.
    redis.call('HSET', drains, id, draining and '1' or '0')
    redis.call('EXPIRE', drains, ask.orderSeconds)
    worker.draining = draining
    register(worker)
  end
end

local count = {}
local function countOf(kind, name) return count[kind .. ':' .. name] or 0 end
local function tally(entry, by)
  local keys = {'all:', 'user:' .. entry.user, 'repo:' .. entry.repo, 'agent:' .. entry.agent,
    'lane:' .. entry.lane}
  if entry.host then
    table.insert(keys, 'host:' .. entry.host)
    table.insert(keys, 'host of ' .. entry.lane .. ':' .. entry.host)
  end
  for _, key in ipairs(keys) do count[key] = (count[key] or 0) + by end
end
for id in pairs(leased) do tally(all[id], 1) end
local function fits(entry)
  return not ((limits.max and countOf('all', '') >= limits.max)
    or (limits.perUser and countOf('user', entry.user) >= limits.perUser)
    or (limits.perRepo and countOf('repo', entry.repo) >= limits.perRepo)
    or (limits.perAgent[entry.agent] and countOf('agent', entry.agent) >= limits.perAgent[entry.agent]))
end

local begun = ''
if ask.begin then
  local id, host = ask.begin.id, ask.begin.host
  local entry = all[id]
  if entry then
    if leased[id] then tally(entry, -1) end
    if standing ~= 2 and fits(entry) and not (limits.perHost and countOf('host', host) >= limits.perHost) then
      entry.host = host
      -- Unknown for a job that begins again, because its worker died or handed it back.
      entry.queuedMs = entry.queuedAt and math.max(0, now - entry.queuedAt)
      begun = cjson.encode(entry)
      entry.queuedAt, entry.queuedMs = nil, nil
      lease(id)
      tally(entry, 1)
    else
      release(id)
      entry.host = nil
      entry.readyAt = now + 1000
      entry.delayMs = 1000
    end
    keep(id, entry)
  end
  -- The worker has counted the job that it begins.
  if begun == '' and standing ~= 0 and ask.worker and not (ask.working or {})[id] then
    ask.worker.busy = ask.worker.busy - 1
    register(ask.worker)
  end
end

-- How many jobs of each lane can run in parallel, given the workers and the limit per host.
local slots = {}
for id, text in pairs((function(list)
  local map = {}
  for i = 1, #list, 2 do map[list[i]] = list[i + 1] end
  return map
end)(redis.call('HGETALL', workers))) do
  local worker = cjson.decode(text)
  if worker.lapses <= now then redis.call('HDEL', workers, id)
  else
    -- A draining worker has room only for the jobs that it runs.
    local own = worker.draining and math.min(worker.busy, worker.slots) or worker.slots
    slots[worker.lane] = slots[worker.lane] or {}
    slots[worker.lane][worker.host] = (slots[worker.lane][worker.host] or 0) + own
  end
end
local capacity = {}
for lane, hosts in pairs(slots) do
  capacity[lane] = 0
  for host, number in pairs(hosts) do
    if limits.perHost then
      local others = countOf('host', host) - countOf('host of ' .. lane, host)
      number = math.max(0, math.min(number, limits.perHost - others))
    end
    capacity[lane] = capacity[lane] + number
  end
end

local waiting, soonest = {}, -1
for id, entry in pairs(all) do
  if not leased[id] then
    if isDue(entry) then
      if countOf('lane', entry.lane) < (capacity[entry.lane] or 0) then table.insert(waiting, id) end
    elseif soonest < 0 or entry.readyAt - now < soonest then soonest = entry.readyAt - now end
  end
end
local function rank(id)
  local entry = all[id]
  local started = orderOf('run ' .. entry.runId)
  if started == 0 then started = math.huge end
  return {entry.priority, countOf('user', entry.user), orderOf('user ' .. entry.user), started, entry.seq}
end
local function before(a, b)
  for i = 1, #a do if a[i] ~= b[i] then return a[i] < b[i] end end
  return false
end

local answer = {begun, soonest, standing}
while #waiting > 0 do
  local best, bestRank
  local candidates = {}
  for _, id in ipairs(waiting) do
    local entry = all[id]
    if fits(entry) and countOf('lane', entry.lane) < capacity[entry.lane] then
      table.insert(candidates, id)
      local own = rank(id)
      if not best or before(own, bestRank) then best, bestRank = id, own end
    end
  end
  if not best then break end
  waiting = {}
  for _, id in ipairs(candidates) do if id ~= best then table.insert(waiting, id) end end
  local entry = all[best]
  entry.host = nil
  lease(best)
  tally(entry, 1)
  note('user ' .. entry.user)
  start(entry.runId)
  redis.call('ZREMRANGEBYRANK', served, 0, -10001)
  keep(best, entry)
  table.insert(answer, best)
  table.insert(answer, cjson.encode(entry))
end
return answer
