/**
 * When a backup reads an entry of a HALO_HOME: `first` before the runs, `last` after them, because it follows from their
 * journals; `secret` only with the keys. `runs` and `repositories` are read run by run, and by git. `never`: it is made
 * again, or belongs to this machine.
 */
type Reading = 'first' | 'runs' | 'last' | 'repositories' | 'secret' | 'never';

/** Everything that halo keeps below a HALO_HOME, by its first name. */
const HOME_ENTRIES: Readonly<Record<string, Reading>> = {
  'config.toml': 'first',
  'models.json': 'first',
  id: 'first',
  place: 'first',
  users: 'first',
  'user-tokens': 'first',
  'access.jsonl': 'first',
  'access.jsonl.old': 'first',
  keys: 'first',
  folders: 'first',
  breakers: 'first',
  runs: 'runs',
  feed: 'runs',
  repos: 'repositories',
  notifications: 'last',
  'issue-reports': 'last',
  'issue-runs': 'last',
  'pull-requests': 'last',
  'pull-reviews': 'last',
  traces: 'last',
  'metrics.json': 'last',
  'retention.json': 'last',
  'api-token': 'secret',
  engines: 'secret',
  'engine-outages.json': 'never',
  'open-runs': 'never',
  'run-index.jsonl': 'never',
  snapshots: 'never',
  sockets: 'never',
  locks: 'never',
  workers: 'never',
  redis: 'never',
  cache: 'never',
  imports: 'never',
  worktrees: 'never',
  'worker.log': 'never',
  'sandbox-proof.json': 'never',
};

/** The names that are read at this time, in order. */
export function entriesOf(reading: Reading): string[] {
  return Object.keys(HOME_ENTRIES).filter((name) => HOME_ENTRIES[name] === reading);
}

/** How an entry is read; undefined: halo does not know it. */
export function readingOf(name: string): Reading | undefined {
  return Object.hasOwn(HOME_ENTRIES, name) ? HOME_ENTRIES[name] : undefined;
}

/** Begins with no dot, so it is not `..`, and nothing that halo keeps for a process. */
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._@+=-]{0,254}$/;

/** Whether halo gives such a name to what it keeps. */
export function isFileName(name: string): boolean {
  return NAME.test(name);
}

/** Whether a file below a kept folder is of a write that is under way: its owner removes or renames it. */
export function isUnfinished(name: string): boolean {
  return /\.tmp$|\.now$|\.lock$|\.new-|^\.(?:lock$|removed-|ready-)/.test(name);
}

/** Whether a backup has a file of a repository, by its path below the folder of the repository. */
export function isRepositoryFile(path: string): boolean {
  return ['mirror.pack', 'held.pack', 'refs.json', 'source'].includes(path);
}

/** Whether a file of a run, by its path below the run directory, is left out of a backup `without` artifacts. */
export function isArtifact(path: string): boolean {
  if (/^(?:events\.jsonl|agent\.log)(?:\.gz)?$|^debug_bundle\//.test(path)) return true;
  return path.startsWith('artifacts/') && !path.endsWith('/proof.json');
}
