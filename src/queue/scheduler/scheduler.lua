-- Assigns slots to jobs. Redis executes the script atomically, so that concurrent calls never exceed a limit.
--
-- Keys: jobs (hash: id to entry as JSON), leases (sorted set: id of a job with a slot, by expiry in ms), served (sorted
-- set: users by their last slot, runs by their first), workers (hash: id to registration as JSON), a counter, drains
-- (hash: id of a worker to 1, it must drain, or 0, it may take jobs again), ran (sorted set: `<engine> <repository>` by the
-- last start there, in ms).
-- Thousands of jobs may wait, and no update reads them all, because each is in exactly one of these:
--   running (hash): id of a job with a slot, to what counts of it as JSON
--   delayed (sorted set): id of one that is not due, by `readyAt`
--   waiting (sorted set, by text): `<group>:<rank of its run>:<rank>:<id>` of one that is due. The jobs of a group get slots
--     one after the other, see `groupOf`; its first text is that of the next one.
-- spots (sorted set, by text): `<run> <id> <text>` for each text in `waiting`. index (hash): what each group is, its
-- engines, and the time of the last update. All of them are made again from jobs and leases if one does not fit the others.
-- Argument: a `SchedulerUpdate` as JSON, see scheduler.ts. All times are those of the server.
-- Reply: the entry that may start or '', ms until the next delayed job is due or -1, whether the worker of the update or
-- of `drain` is registered (1), drains (2) or neither (0), the ids of jobs of `working` that another engine has taken over,
-- separated by commas, then ids and entries of the jobs that received a slot; `from` in an entry: the engine in whose
-- queue the job may be left.

local jobs, leases, served, workers, counter, drains = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local ran, running, delayed, waiting, spots, index = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local ask = cjson.decode(ARGV[1])
local limits = ask.limits
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function readHash(key)
  local list, map = redis.call('HGETALL', key), {}
  for i = 1, #list, 2 do map[list[i]] = list[i + 1] end
  return map
end

local lapsed, slotCount = redis.call('ZRANGEBYSCORE', leases, '-inf', now), redis.call('ZCARD', leases)
redis.call('ZREMRANGEBYSCORE', leases, '-inf', now)
-- Entries that were read; `false`: there is no such job.
local all = {}
local function add(ids)
  for first = 1, #ids, 1000 do
    local texts = redis.call('HMGET', jobs, unpack(ids, first, math.min(first + 999, #ids)))
    for i, text in ipairs(texts) do all[ids[first + i - 1]] = text and cjson.decode(text) end
  end
end
local function find(id)
  if all[id] == nil then add({id}) end
  return all[id]
end
local function readAll()
  local missing = {}
  for _, id in ipairs(redis.call('HKEYS', jobs)) do if all[id] == nil then table.insert(missing, id) end end
  add(missing)
end
local function isDue(entry)
  return entry.readyAt <= now or (entry.delayMs ~= nil and entry.readyAt - now > entry.delayMs)
end

local LOCAL = 'local'
-- Where a job with a slot, or a worker, is: in the lane of an owner, or on an engine.
local function placeOf(entry)
  return entry.lane ~= '' and entry.lane or 'engine ' .. (entry.engine or LOCAL)
end
local function enginesOf(entry) return entry.engines or {LOCAL} end

local order = {}
local function orderOf(name)
  order[name] = order[name] or tonumber(redis.call('ZSCORE', served, name) or 0)
  return order[name]
end
local function note(name)
  order[name] = redis.call('INCR', counter)
  redis.call('ZADD', served, order[name], name)
end

-- By id: what counts of the jobs with a slot. By hash: groups of waiting jobs, and lists of engines.
local leased, groups, engineLists = {}, {}, {}
-- Ids of jobs that have changed, to their runs.
local touched = {}
local function touch(id)
  if all[id] then touched[id] = all[id].runId end
end
local function countedOf(entry)
  local lane, host, user, repo, agent = entry.lane, entry.host, entry.user, entry.repo, entry.agent
  return {place = placeOf(entry), lane = lane, host = host, user = user, repo = repo, agent = agent}
end

-- By group: the first of its texts, or false.
local first = {}
local function firstOf(group)
  if first[group] == nil then
    first[group] = redis.call('ZRANGEBYLEX', waiting, '[' .. group .. ':', '(' .. group .. ';', 'LIMIT', 0, 1)[1] or false
  end
  return first[group]
end
local function removeText(text)
  local group = text:sub(1, 40)
  redis.call('ZREM', waiting, text)
  if first[group] == text then first[group] = nil end
  if not firstOf(group) then
    redis.call('HDEL', index, 'group ' .. group)
    groups[group] = nil
  end
end
local function spotsOf(start, ...)
  return redis.call('ZRANGEBYLEX', spots, '[' .. start, '(' .. start .. '\255', ...)
end
-- Jobs with the same priority, lane, user, repository, agent and engines: whether one of them may start is the same for
-- all, and so is its rank, except for that of its run and its own.
local function groupOf(entry)
  local engines = cjson.encode(enginesOf(entry))
  local list = redis.sha1hex(engines)
  local facts = {entry.priority, entry.lane, entry.user, entry.repo, entry.agent, list}
  local text = cjson.encode(facts)
  local group = redis.sha1hex(text)
  if not groups[group] then
    groups[group] = text
    redis.call('HSET', index, 'group ' .. group, text)
  end
  if not engineLists[list] then
    engineLists[list] = engines
    redis.call('HSET', index, 'engines ' .. list, engines)
  end
  return group
end
local function enter(id, entry)
  if not isDue(entry) then return redis.call('ZADD', delayed, entry.readyAt, id) end
  local group, started = groupOf(entry), orderOf('run ' .. entry.runId)
  local ofRun = started == 0 and '~' or string.format('%016d', started)
  local text = group .. ':' .. ofRun .. ':' .. string.format('%016d', entry.seq) .. ':' .. id
  redis.call('ZADD', waiting, 0, text)
  redis.call('ZADD', spots, 0, entry.runId .. ' ' .. id .. ' ' .. text)
  if first[group] == false or (first[group] and text < first[group]) then first[group] = text end
end
local function leave(id, runId)
  if redis.call('ZREM', delayed, id) == 1 then return end
  local start = runId .. ' ' .. id .. ' '
  for _, spot in ipairs(spotsOf(start)) do
    redis.call('ZREM', spots, spot)
    removeText(spot:sub(#start + 1))
  end
end
-- Brings the index up to date.
local function settle()
  for id, runId in pairs(touched) do
    leave(id, runId)
    if leased[id] then redis.call('HSET', running, id, cjson.encode(leased[id]))
    else
      redis.call('HDEL', running, id)
      if all[id] then enter(id, all[id]) end
    end
  end
  touched = {}
end
local function fitsTogether()
  local dueCount = redis.call('ZCARD', waiting)
  local clock = tonumber(redis.call('HGET', index, 'clock') or math.huge)
  -- While no job waits, nothing is remembered of groups.
  if dueCount == 0 then redis.call('DEL', index) end
  -- A clock that was set back: see `isDue`.
  return clock <= now and redis.call('HLEN', running) == slotCount and redis.call('ZCARD', spots) == dueCount
    and redis.call('HLEN', jobs) == slotCount + dueCount + redis.call('ZCARD', delayed)
end
if fitsTogether() then
  for id, text in pairs(readHash(running)) do leased[id] = cjson.decode(text) end
  for name, text in pairs(readHash(index)) do
    local kind, hash = name:match('^(%a+) (.*)')
    if kind == 'group' then groups[hash] = text elseif kind == 'engines' then engineLists[hash] = text end
  end
  add(lapsed)
  for _, id in ipairs(lapsed) do
    leased[id] = nil
    touch(id)
  end
else
  redis.call('DEL', running, delayed, waiting, spots, index)
  readAll()
  for _, id in ipairs(redis.call('ZRANGE', leases, 0, -1)) do
    if all[id] then leased[id] = countedOf(all[id]) else redis.call('ZREM', leases, id) end
  end
  for id in pairs(all) do touch(id) end
end
redis.call('HSET', index, 'clock', now)
local due = redis.call('ZRANGEBYSCORE', delayed, '-inf', now)
add(due)
for _, id in ipairs(due) do touch(id) end
settle()
-- A lease that is longer than it was made was made while the clock of the server was ahead.
for _, id in ipairs(redis.call('ZRANGEBYSCORE', leases, '(' .. (now + ask.leaseMs), '+inf')) do
  redis.call('ZADD', leases, now + ask.leaseMs, id)
end

local function keep(id, entry)
  all[id] = entry
  redis.call('HSET', jobs, id, cjson.encode(entry))
  if leased[id] then leased[id] = countedOf(entry) end
  touch(id)
end
local function drop(id)
  touch(id)
  redis.call('HDEL', jobs, id)
  all[id] = false
end
local function renew(id) redis.call('ZADD', leases, now + ask.leaseMs, id) end
local function lease(id)
  leased[id] = countedOf(all[id])
  renew(id)
  touch(id)
end
local function release(id)
  leased[id] = nil
  redis.call('ZREM', leases, id)
  touch(id)
end
-- From its first slot on a run keeps its rank among the runs of its user.
local function start(runId)
  if orderOf('run ' .. runId) > 0 then return end
  note('run ' .. runId)
  for _, spot in ipairs(spotsOf(runId .. ' ')) do
    local id = spot:match('^[^ ]+ (.*) [^ ]+$')
    if find(id) then touch(id) end
  end
end

for _, job in ipairs(ask.offer or {}) do
  local id, old = job.id, find(job.id)
  if job.started then start(job.runId) end
  job.started = nil
  job.readyAt = now + job.delayMs
  job.id = nil
  if old then
    -- A repeated offer neither delays a job nor lowers its rank.
    if old.readyAt < job.readyAt then job.readyAt, job.delayMs = old.readyAt, old.delayMs end
    job.queuedAt = old.queuedAt and math.min(old.queuedAt, job.readyAt)
    job.seq = old.seq
    job.host, job.engine = old.host, old.engine
    -- The old lane belonged to a process that is dead.
    if old.lane ~= job.lane then release(id) end
  else
    job.queuedAt = job.readyAt
    job.seq = redis.call('INCR', counter)
  end
  keep(id, job)
end
-- Running jobs count, even if the server lost them, unless another engine has taken them over.
local lost = {}
for id, entry in pairs(ask.working or {}) do
  local known = leased[id] or (find(id) and countedOf(all[id]))
  if known and known.place ~= placeOf(entry) then table.insert(lost, id)
  elseif leased[id] then renew(id)
  else
    if not known then keep(id, entry) end
    lease(id)
  end
end
if ask.back and find(ask.back) then
  all[ask.back].host = nil
  keep(ask.back, all[ask.back])
end
if ask.finish and find(ask.finish) then
  release(ask.finish)
  drop(ask.finish)
end
if ask.later and find(ask.later.id) then
  local entry = all[ask.later.id]
  release(ask.later.id)
  entry.host = nil
  entry.readyAt = now + ask.later.delayMs
  entry.avoid = ask.later.avoid
  entry.delayMs = ask.later.delayMs
  entry.queuedAt = entry.readyAt
  keep(ask.later.id, entry)
end
if ask.dropLane then
  readAll()
  for id, entry in pairs(all) do
    if entry and entry.lane == ask.dropLane then
      release(id)
      drop(id)
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

local counts = {all = {}, user = {}, repo = {}, agent = {}, place = {}, host = {}}
local function countOf(kind, name) return counts[kind] and counts[kind][name] or 0 end
local function raise(kind, name, by)
  counts[kind] = counts[kind] or {}
  counts[kind][name] = (counts[kind][name] or 0) + by
end
local function tally(counted, by)
  raise('all', '', by)
  raise('user', counted.user, by)
  raise('repo', counted.repo, by)
  raise('agent', counted.agent, by)
  raise('place', counted.place, by)
  if counted.host then
    raise('host', counted.host, by)
    raise('host of ' .. counted.place, counted.host, by)
  end
end
for _, counted in pairs(leased) do tally(counted, 1) end
local function fits(entry)
  return not ((limits.max and countOf('all', '') >= limits.max)
    or (limits.perUser and countOf('user', entry.user) >= limits.perUser)
    or (limits.perRepo and countOf('repo', entry.repo) >= limits.perRepo)
    or (limits.perAgent[entry.agent] and countOf('agent', entry.agent) >= limits.perAgent[entry.agent]))
end

local function mayRun(entry, engine)
  if entry.lane ~= '' then return true end
  for _, name in ipairs(enginesOf(entry)) do if name == engine then return true end end
  return false
end

local begun = ''
if ask.begin then
  local id, host, engine = ask.begin.id, ask.begin.host, ask.begin.engine or LOCAL
  local entry = find(id)
  -- One that has moved to another engine was only left in the queue of this one.
  if entry and (entry.lane ~= '' or (entry.engine or engine) == engine) then
    if leased[id] then tally(leased[id], -1) end
    if entry.lane == '' then entry.engine = engine end
    if standing ~= 2 and fits(entry) and mayRun(entry, engine)
      and not (limits.perHost and countOf('host', host) >= limits.perHost) then
      entry.host = host
      redis.call('ZADD', ran, now, engine .. ' ' .. entry.repo)
      redis.call('ZREMRANGEBYRANK', ran, 0, -10001)
      -- Unknown for a job that begins again, because its worker died or handed it back.
      entry.queuedMs = entry.queuedAt and math.max(0, now - entry.queuedAt)
      begun = cjson.encode(entry)
      entry.queuedAt, entry.queuedMs = nil, nil
      lease(id)
      tally(leased[id], 1)
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

-- How many jobs can run in parallel at each place, given the workers and the limit per host.
local slots, isTaken = {}, {}
for id, text in pairs(readHash(workers)) do
  local worker = cjson.decode(text)
  if worker.lapses <= now then redis.call('HDEL', workers, id)
  else
    -- A draining worker, or one whose engine is away, has room only for the jobs that it runs.
    local closed = worker.draining or worker.away
    local own = closed and math.min(worker.busy, worker.slots) or worker.slots
    local place = placeOf(worker)
    slots[place] = slots[place] or {}
    slots[place][worker.host] = (slots[place][worker.host] or 0) + own
    if not closed then isTaken[place] = true end
  end
end
-- A job in the queue of an engine without a worker that would begin it needs a slot on another one.
for id, counted in pairs(leased) do
  if counted.lane == '' and not counted.host and not isTaken[counted.place] and find(id) then
    tally(counted, -1)
    release(id)
  end
end
local capacity = {}
for place, hosts in pairs(slots) do
  capacity[place] = 0
  for host, number in pairs(hosts) do
    if limits.perHost then
      local others = countOf('host', host) - countOf('host of ' .. place, host)
      number = math.max(0, math.min(number, limits.perHost - others))
    end
    capacity[place] = capacity[place] + number
  end
end
local function hasRoom(place) return countOf('place', place) < (capacity[place] or 0) end
-- By list of engines: whether one of them has room. Known again after each slot that is assigned.
local roomy = {}
local function hasPlace(group)
  if group.lane ~= '' then return hasRoom(group.lane) end
  if roomy[group.list] == nil then
    roomy[group.list] = false
    for _, engine in ipairs(cjson.decode(engineLists[group.list])) do
      if hasRoom('engine ' .. engine) then roomy[group.list] = true break end
    end
  end
  return roomy[group.list]
end
local warm = {}
local function isWarm(engine, repo)
  local name = engine .. ' ' .. repo
  warm[name] = warm[name] or (redis.call('ZSCORE', ran, name) and 1 or 0)
  return warm[name]
end
-- Of the engines with room for a job, one that has run its repository, and last the one that it avoids; of several, the
-- one with the lowest load.
local function findEngine(entry)
  local best, bestWarm, bestLoad
  for _, engine in ipairs(enginesOf(entry)) do
    local place = 'engine ' .. engine
    if hasRoom(place) then
      local own = entry.avoid == engine and -1 or isWarm(engine, entry.repo)
      local load = countOf('place', place) / capacity[place]
      if not best or own > bestWarm or (own == bestWarm and load < bestLoad) then
        best, bestWarm, bestLoad = engine, own, load
      end
    end
  end
  return best
end

-- Without room, no job that waits could get a slot, and no delay matters: the update that makes room looks at them.
local function isRoomLeft()
  for place in pairs(capacity) do if hasRoom(place) then return true end end
  return false
end
settle()
local hasAnyRoom = isRoomLeft()
local soonest = -1
if hasAnyRoom then
  local next = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
  if next then soonest = math.max(0, tonumber(next) - now) end
end
local function groupAt(hash)
  local group = groups[hash]
  if type(group) == 'string' then
    local priority, lane, user, repo, agent, list = unpack(cjson.decode(group))
    group = {priority = priority, lane = lane, user = user, repo = repo, agent = agent, list = list}
    groups[hash] = group
  end
  return group
end
local function isBefore(hash, other)
  local a, b = groupAt(hash), groupAt(other)
  if a.priority ~= b.priority then return a.priority < b.priority end
  local busyA, busyB = countOf('user', a.user), countOf('user', b.user)
  if busyA ~= busyB then return busyA < busyB end
  local servedA, servedB = orderOf('user ' .. a.user), orderOf('user ' .. b.user)
  if servedA ~= servedB then return servedA < servedB end
  return firstOf(hash):sub(42) < firstOf(other):sub(42)
end
-- The job that gets the next slot.
local function findNext()
  local best
  for hash in pairs(groups) do
    local group = groupAt(hash)
    if fits(group) and hasPlace(group) and (not best or isBefore(hash, best)) then best = hash end
  end
  if not best then return end
  local text = firstOf(best)
  local id = text:match('^[^:]+:[^:]+:[^:]+:(.*)$')
  if find(id) and not leased[id] then return id end
  -- Another version of halo has changed it.
  removeText(text)
  return findNext()
end

local answer = {begun, soonest, standing, table.concat(lost, ',')}
while hasAnyRoom do
  local id = findNext()
  if not id then break end
  local entry = all[id]
  entry.host = nil
  local from = entry.engine
  if entry.lane == '' then entry.engine = findEngine(entry) end
  lease(id)
  tally(leased[id], 1)
  roomy = {}
  note('user ' .. entry.user)
  start(entry.runId)
  redis.call('ZREMRANGEBYRANK', served, 0, -10001)
  keep(id, entry)
  settle()
  if from ~= entry.engine then entry.from = from end
  table.insert(answer, id)
  table.insert(answer, cjson.encode(entry))
end
return answer
