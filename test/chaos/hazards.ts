/** What can happen around a story, and what comes of it. Tests name the ids that they try: `hazard 12: …`. */
export interface Hazard {
  id: string;
  hazard: string;
  outcome: string;
}

const ROWS: [hazard: string, outcome: string][] = [
  ['a worker is killed at any border', 'another one finishes; one commit for each story'],
  ['workers are killed at random, many runs and repositories', 'every story landed exactly once'],
  ['a worker is stopped, overtaken, and goes on', 'the old attempt writes nothing; one commit'],
  ['a worker is too busy to keep its lock', 'the story is done again by another; one commit'],
  ['a worker is killed between landing and saying so', 'the commit is found; no container is started'],
  ['Redis is away when a story ends', 'one commit, and its end is written down'],
  ['Redis is away, slow or half dead, idle and busy', 'the next job is taken within 30 s of its return'],
  ['Redis is restarted, or loses all its data', 'jobs are made anew from the journals'],
  ['Redis is full', 'new runs are kept and wait, running stories end'],
  ['Redis may forget: no log on disk, or evicts keys', 'doctor and worker say so'],
  ['Docker Engine is killed in the middle of a story', 'the attempt is made again, at no cost of attempts'],
  ['the engine is slow, resets connections, answers 500', 'tried again, within bounds; nothing piles up'],
  ['a sandbox runs out of memory', 'the end says so'],
  ['a fork bomb', 'the limit ends the container; other stories are unharmed'],
  ['output without end', 'the worker’s memory stays flat; the cap is told'],
  ['a reader of the log that does not read', 'the agent is not held up; nothing piles up'],
  ['a sandbox fills its disk', 'it is ended within 30 s'],
  ['the disk of HALO_HOME, of Redis or of the repository is full', 'a clear error; the story lands when there is room'],
  ['an agent hangs, silent or noisy', 'ended by the limit of silence or of time'],
  ['an agent ignores SIGTERM, or leaves processes behind', 'gone with its container'],
  ['a run is cancelled in each phase', 'ended within 5 s; nothing lands afterwards'],
  ['a run is cancelled as it ends', 'one end, and it is what git says'],
  ['SIGTERM, twice, and many deployments', 'stories are handed back at no cost, or ended'],
  ['two runs of one repository at once', 'a branch for each; both end'],
  ['the same is submitted many times at once', 'one run, the same id for all'],
  ['the branch moves on the host', 'merged and proved again, or a conflict; nothing is overwritten'],
  ['the checkout is dirty, staged, mid-rebase, detached, locked', 'untouched; a clear refusal'],
  ['what a sandbox hands out is hostile', 'refused; nothing outside the scratch folder'],
  ['a PRD is malformed', 'an error with its place; no job'],
  ['a secret in pieces, encoded, in names', 'in no file and no output'],
  ['one user has a hundred runs, another has one', 'they take turns; limits are reached, never passed'],
  ['many runs over many repositories, again and again', 'memory, files, keys and containers stay flat'],
  ['clocks differ between workers, or jump', 'nothing is done twice; a retry comes in its time'],
  ['an image is missing', 'a clear error; other repositories go on'],
  ['no networks are left', 'none is needed'],
  ['ends that nobody expects: 125 to 143, none at all', 'each has its reason; none is a success'],
  ['a story kills its worker each time', 'it fails at its limit; others go on'],
  ['an older halo stopped in the middle of a run', 'it goes on; a run of a newer one is refused with a sentence'],
  ['an engine that is too old', 'refused, with a sentence'],
  ['events of Redis are lost', 'what is shown is right within 10 s'],
  ['one of two machines is cut off, and comes back', 'the other one finishes; one commit'],
  ['the server, `halo approve` or `halo run` is killed', 'what was answered took effect, all else once or not at all'],
  ['the power fails in the middle of runs', 'what was told as landed is there; the rest is done again'],
  ['the power fails right after git has written something', 'it is there, and the repository is whole'],
  ['the repository is cleaned (`git gc --prune=now`) while a story lands', 'it lands; nothing is done again'],
  ['the data of halo’s own Redis is damaged', 'it is set aside; jobs are made anew from the journals'],
  ['a mirror is damaged', 'it is made again from its repository; runs go on'],
  ['Docker Engine is killed twice within ten seconds', 'retries; no worker is taken for dead'],
  ['a repository is away for moments, or git is killed in a mirror', 'tried again; nothing unfinished stays'],
  ['a file of HALO_HOME is empty, zeros, cut off or random', 'made again, or named in one sentence'],
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
