/** What can happen around a story, and what comes of it. Tests name the ids that they try: `hazard 12: …`. */
export interface Hazard {
  id: string;
  hazard: string;
  outcome: string;
}

const ROWS: [hazard: string, outcome: string][] = [
  ['a worker is killed at any failpoint', 'another worker finishes; one commit for each story'],
  ['workers are killed at random, many runs and repositories', 'every story landed exactly once'],
  ['a worker is stopped, replaced, and continues', 'the old attempt writes nothing; one commit'],
  ['a worker is too busy to keep its lock', 'another worker repeats the story; one commit'],
  ['a worker is killed between landing and its journal event', 'the commit is found; no container is started'],
  ['Redis is unavailable when a story ends', 'one commit; the end is in the journal'],
  ['Redis is unavailable, slow or half dead, idle and busy', 'the next job is taken within 30 s of its return'],
  ['Redis is restarted, or loses all its data', 'jobs are restored from the journals'],
  ['Redis is full', 'new runs are saved and wait; running stories continue to their normal end'],
  [
    'Redis may lose data: no persistence, or key eviction',
    '`halo doctor` and workers report it; with key eviction, no run is created and no worker starts',
  ],
  ['Docker Engine is killed during a story', 'the attempt is repeated, without using one up'],
  ['the engine is slow, resets connections, answers 500', 'bounded retries; nothing accumulates'],
  ['a sandbox runs out of memory', 'the failure says so'],
  ['a fork bomb', 'the limit ends the container; other stories are not affected'],
  ['endless output', 'the worker’s memory stays flat; the limit is reported'],
  ['a log client that stops reading', 'the agent is not blocked; nothing accumulates'],
  ['a sandbox fills its disk', 'it is stopped within 30 s'],
  [
    'the disk of HALO_HOME, of Redis or of the repository is full',
    'a clear error; the story lands when there is space',
  ],
  ['an agent hangs, silent or noisy', 'stopped by the idle or wall time limit'],
  ['an agent ignores SIGTERM, or leaves processes behind', 'removed with its container'],
  ['a run is cancelled in each phase', 'cancelled within 5 s; nothing lands afterwards'],
  ['a run is cancelled as it ends', 'the run ends once; journal and git agree'],
  ['SIGTERM, once and twice, and many deployments', 'stories are handed back without using up an attempt, or ended'],
  ['two concurrent runs of one repository', 'separate branches; both end'],
  ['the same PRD is submitted many times in parallel with one key', 'one run, the same id for all'],
  ['the branch moves on the host', 'merged and gated again, or a conflict; nothing is overwritten'],
  ['the checkout is dirty, staged, mid-rebase, detached, locked', 'unchanged; a clear refusal'],
  ['the export of a sandbox is hostile', 'refused; nothing outside the scratch folder'],
  ['a PRD is malformed', 'an error with its position; no job'],
  ['a secret in pieces, encoded, in names', 'in no file and no output'],
  ['one user has a hundred runs, another has one', 'fair turns; limits are reached, never exceeded'],
  ['many runs over many repositories, repeatedly', 'memory, files, keys and containers stay flat'],
  ['clocks differ between workers, or jump', 'nothing is done twice; retries are on time'],
  ['an image is missing', 'a clear error; other repositories continue'],
  ['the engine has no networks left', 'none is needed'],
  ['unexpected exit codes: 125 to 143, or none', 'each has a reason; none is a success'],
  ['a story kills its worker each time', 'it fails at its limit; others continue'],
  ['a newer halo wrote the run', 'refused with an error, and unchanged'],
  ['an engine that is too old', 'refused with an error'],
  ['events of Redis are lost', 'displays are correct within 10 s'],
  ['one of two machines is disconnected and returns', 'the other one finishes; one commit'],
  [
    'the server, `halo approve` or `halo run` is killed',
    'answered commands took effect, all others once or not at all',
  ],
  ['the power fails during runs', 'everything reported as landed exists; the rest is repeated'],
  ['the power fails right after a write of git or of a journal', 'the write survives; the repository is intact'],
  ['the repository is cleaned (`git gc --prune=now`) while a story lands', 'it lands; nothing is repeated'],
  ['the data of halo’s own Redis is damaged', 'it is set aside; jobs are restored from the journals'],
  ['a mirror is damaged', 'it is rebuilt from its repository; runs continue'],
  ['Docker Engine is killed twice within ten seconds', 'retries; no worker is considered dead'],
  [
    'a repository is briefly unavailable or read-only, or git is killed in a mirror',
    'retried; no unfinished files stay',
  ],
  ['a file of HALO_HOME is empty, zeros, cut off or random', 'rebuilt, or named in an error'],
  ['retention removes a mirror while the first submit of its repository waits', 'the submit creates it again'],
  [
    'files of a snapshot are lost, and a gate fails for it',
    'the snapshot is removed; the attempt is repeated, without using one up',
  ],
  ['a backup of HALO_HOME is restored with files in place of links', 'they are free locks'],
  [
    'the commit that a story began with is replaced, and removed from the repository by git',
    'the story lands on it, with its history',
  ],
  ['lines of a journal are missing, repeated or in another place', 'an error names the event; nothing is done twice'],
  ['the disk of a log, or of the output of a command, is full', 'the worker and the run continue without it'],
  ['a worker starts in a copy of a HALO_HOME', 'it is refused; stories of the original continue'],
  [
    'a forge limits requests (429, 403), or hangs',
    'no request before the time that it names; nothing is posted twice; a worker ends in time',
  ],
  [
    'the server is killed while commands and pages follow runs and logs',
    'they continue with the next event: none is lost, none comes twice',
  ],
  ['a process may not open further files', 'a clear error; nothing is dropped or counted as missing; it continues'],
  ['local time jumps (daylight saving)', 'nothing of halo is by local time, except times of day that a user enters'],
  ['the disk of the engine is full', 'a clear error of the infrastructure, which uses up no attempt'],
  ['a worker is killed while it downloads an archive for the cache', 'the archive is downloaded again'],
  [
    'all of many keys of models get pauses at the same time',
    'each is tried once; work waits for the first pause to end',
  ],
  ['a thousand runs are queued', 'all are listed; a worker starts with little memory, and takes one after the other'],
  ['the disk is slow: 0.4 s for each fsync', 'stories take longer; nothing is repeated'],
  [
    'a home is backed up while runs work, lost, and restored elsewhere',
    'each run is as it was at one moment and continues; each story lands once',
  ],
  [
    'a restored home and its original run at the same time, although a person confirmed that this is not so',
    'no story lands twice; some may end with a conflict',
  ],
  [
    'the transfer of a repository to an engine breaks off',
    'it is sent again, without using an attempt up; no part is left',
  ],
  [
    'one of several engines is cut off, killed or switched off',
    'its stories start again on others, with the same attempt, and land once; it is swept when it is back',
  ],
  [
    'the engine of a worker does not answer when stories wait',
    'the worker takes none; neither attempts nor retries are used up',
  ],
  [
    'another machine takes over the name of an engine',
    'stories start again there; snapshots and sessions of the former one do not count',
  ],
  ['engines with the same id, as cloned machines have', 'none uses or removes the snapshots of another one'],
  [
    'an engine answers, and fails: its disk is full',
    'stories start again on others that have room, with the same attempt',
  ],
  ['a service fills its data folder', 'its command ends; the failure says so, and nothing is left'],
  ['a run is cancelled while its services start', 'it ends; neither containers nor volumes are left'],
  [
    'engines of other machines: at any failpoint, the connection is cut or slow, the engine, a worker or the server is killed, restarted or has a full disk, or times in answers are wrong',
    'each story lands once; nothing is left on the engines or the server',
  ],
  [
    'the data of a service is prepared: the engine or a worker is killed, or the run cancelled',
    'the data is made again, and stories land once; nothing is left',
  ],
  [
    'a provider fails during an attempt, and the worker is killed before or after another agent has taken over',
    'the attempt begins again, without using it up, with an agent that has not failed in it',
  ],
  [
    'a worker, or its reviewer, is killed while a change is reviewed',
    'story and review are repeated, and the change lands once; without a review, a person decides',
  ],
  [
    'several people send messages to an agent at the same time, and its worker is killed before they are delivered',
    'the agent of the next worker is shown each message once',
  ],
  [
    'a worker is killed after it has written a message to its agent, before or after the agent has confirmed it',
    'the agent of the next worker has it once, in its prompt',
  ],
  [
    'a provider breaks off its responses in the middle of their streams',
    'the next agent of `fallback` takes over, without using an attempt up',
  ],
];

export const HAZARDS: readonly Hazard[] = ROWS.map(([hazard, outcome], index) => ({
  id: `hazard ${index + 1}`,
  hazard,
  outcome,
}));

/** The ids in a test's full name: `hazard 12: …`, `attack 17, hazards 14, 15: …`. */
export function idsIn(name: string): string[] {
  const lists = [...name.matchAll(/\bhazards? (\d+(?:(?:, | and )\d+)*)/g)].map(([, list = '']) => list);
  return lists.flatMap((list) => [...list.matchAll(/\d+/g)].map(([number]) => `hazard ${number}`));
}
