/**
 * What becomes of a file that was damaged. `rebuilt`: restored from other files, or not needed;
 * `reported`: not recoverable, an error names it; `record`: for people, halo does not need it.
 */
export type Damaged = 'rebuilt' | 'reported' | 'record';

export interface DurableFile {
  /** Below HALO_HOME, as the page shows it. */
  name: string;
  path: RegExp;
  what: string;
  damaged: Damaged;
  /** How it outlasts a power cut, or why it need not. */
  how: string;
}

const RUN = 'runs/[0-9a-z]{15}';
const ATTEMPT = `${RUN}/artifacts/[a-z0-9-]+/[0-9]+`;
const MIRROR = 'repos/[^/]+';

const row = (name: string, path: string, rest: Omit<DurableFile, 'name' | 'path'>): DurableFile => ({
  name,
  path: new RegExp(`^${path}$`),
  ...rest,
});

/** All that a HALO_HOME may hold. */
export const DURABLE_FILES: readonly DurableFile[] = [
  row('id', 'id', {
    what: 'the id of this home: on containers, volumes and keys in Redis',
    damaged: 'reported',
    how: 'written once, synced',
  }),
  row('place', 'place', {
    what: 'the path of this home, by which a worker recognizes that it runs in a copy',
    damaged: 'rebuilt',
    how: 'atomic; written again by the next worker',
  }),
  row('config.toml', 'config\\.toml', {
    what: 'your settings',
    damaged: 'reported',
    how: 'yours; halo never writes it',
  }),
  row('api-token', 'api-token', {
    what: 'the token of the HTTP API',
    damaged: 'reported',
    how: 'written once, synced',
  }),
  row('users/*.json', 'users/[\\w.@+-]+\\.json', {
    what: 'users of the server, with role and repositories',
    damaged: 'reported',
    how: 'atomic, synced',
  }),
  row('users/*.removed', 'users/[\\w.@+-]+\\.removed', {
    what: 'an empty file for each removed user, whose name is not given to another one',
    damaged: 'rebuilt',
    how: 'atomic, synced; only its name counts',
  }),
  row('user-tokens/*.json', 'user-tokens/[0-9a-z]{8}\\.json', {
    what: 'hashes of their tokens',
    damaged: 'reported',
    how: 'atomic, synced',
  }),
  row('user-tokens/*.used', 'user-tokens/[0-9a-z]{8}\\.used', {
    what: 'an empty file for each token: when it was used last',
    damaged: 'rebuilt',
    how: 'created again by the next request',
  }),
  row('access.jsonl, access.jsonl.old', 'access\\.jsonl(?:\\.old)?', {
    what: 'the access log: changes of users, sign-ins, denials',
    damaged: 'rebuilt',
    how: 'appended; damaged lines are left out',
  }),
  row('sandbox-proof.json', 'sandbox-proof\\.json', {
    what: 'results of the isolation check and other probes of each engine',
    damaged: 'rebuilt',
    how: 'atomic; checked again',
  }),
  row('keys/*.json', 'keys/[0-9a-f]{64}\\.json', {
    what: 'idempotency keys of submits, with their runs',
    damaged: 'reported',
    how: 'atomic, synced before the runs exist',
  }),
  row('folders/*/*.json', 'folders/[0-9a-f]{32}/[0-9a-f]{64}\\.json', {
    what: 'the PRDs of a folder that `halo queue` runs',
    damaged: 'reported',
    how: 'atomic, synced before each step',
  }),
  row('breakers/*.json', 'breakers/[0-9a-f]{32}\\.json', {
    what: 'breakers of repositories and providers',
    damaged: 'rebuilt',
    how: 'atomic; counts as closed, and counts again',
  }),
  row('snapshots/<mirror>/*.json', `snapshots/[^/]+/[0-9a-f]{64}(?:~[0-9a-f]{12})?(?:@[0-9a-z]{15})?\\.json`, {
    what: 'snapshots of what setup installed, with their volumes',
    damaged: 'rebuilt',
    how: 'the volume is synced before, the record atomic and synced; setup runs again. The volume is in the engine: it is compared with the record when a command fails on it',
  }),
  row(
    'workers/*, locks/*, **/*lock',
    '(?:workers/(?:any|own)-[0-9a-f]{16}|locks/prd-[0-9a-f]{16}|locks/mirror-[a-z0-9-]+|locks/retention|snapshots/[^/]+/uses/[^/]+|(?:.+/)?[^/]*\\.?lock)',
    {
      what: 'running workers, and locks: links that name a process',
      damaged: 'rebuilt',
      how: 'released when that process is gone, or after a reboot',
    },
  ),
  row('retention.json', 'retention\\.json', {
    what: 'when a worker removed old runs last',
    damaged: 'rebuilt',
    how: 'atomic; the removal is repeated',
  }),
  row('open-runs/*', `open-runs/(?:\\.complete|[0-9a-z]{15}(?:\\.started)?)`, {
    what: 'an empty file for each run that may not have ended, for lists and workers; `.complete`: all are listed',
    damaged: 'rebuilt',
    how: 'added and synced before the run is open (failpoints `submit.listed`, `command.before`), removed after its end (`run.ended.after`); found again from the journals if they are missing',
  }),
  row('run-index.jsonl', 'run-index\\.jsonl', {
    what: 'repository, user, PRD, batch and result of each run, for lists',
    damaged: 'rebuilt',
    how: 'lines are appended under a lock; the state of an ended run is removed, synced, before the run changes; a run without a line is read; rewritten daily',
  }),
  row('cache/registry/**', 'cache/registry/(?:sha256|urls|tmp)/.+', {
    what: 'archives of package registries',
    damaged: 'rebuilt',
    how: 'named by their hash, which is verified before each use; downloaded again',
  }),
  row('pull-requests/*.json', 'pull-requests/[0-9a-z]{15}(?:-[0-9]+)?\\.json', {
    what: 'runs whose pull requests are not as they should be yet',
    damaged: 'rebuilt',
    how: 'a note of its own for each event, synced before the feed continues; a pull request is looked for before one is opened',
  }),
  row('pull-reviews/*.json', 'pull-reviews/[0-9a-z]{15}\\.json', {
    what: 'runs whose pull requests are open, so that halo reads their reviews',
    damaged: 'rebuilt',
    how: 'atomic, synced; made again by the next event of the run; the journal says which reviews were used',
  }),
  row('traces/*', 'traces/[0-9a-z]{15}-[0-9]+', {
    what: 'runs whose trace was not sent yet',
    damaged: 'rebuilt',
    how: 'empty, synced before the feed continues; the spans are made from the journal',
  }),
  row('issue-reports/*.json', 'issue-reports/[0-9a-z]{15}\\.json', {
    what: 'what the issues of a run already show',
    damaged: 'rebuilt',
    how: 'atomic, synced; a label is set again, and a comment is looked for before it is repeated',
  }),
  row('metrics.json', 'metrics\\.json', {
    what: 'totals of the metrics, and how far each run was counted',
    damaged: 'rebuilt',
    how: 'atomic, synced before the feed continues; counters begin at 0 if it is damaged',
  }),
  row('feed/*', 'feed/[0-9a-z]{15}', {
    what: 'for each run with events that notifications do not know yet, how far they know its journal',
    damaged: 'rebuilt',
    how: 'added before the event; atomic, synced; if it is damaged, all events of the run are read again, and what was delivered, according to the log, is not sent again',
  }),
  row('notifications/<endpoint>/*.json', 'notifications/[a-z0-9-]+/(?:[0-9a-z]{15}-[0-9]+\\.json|disabled\\.txt)', {
    what: 'notifications that an endpoint has not received',
    damaged: 'record',
    how: 'atomic, synced before the feed continues, removed when they are delivered',
  }),
  row('engine-outages.json', 'engine-outages\\.json', {
    what: 'engines that take no stories, and since when',
    damaged: 'rebuilt',
    how: 'atomic; outages begin again when it is damaged',
  }),
  row('notifications/lasting.json', 'notifications/lasting\\.json', {
    what: 'outages of engines that were reported',
    damaged: 'rebuilt',
    how: 'atomic, synced after the notifications; they are sent again, with the same ids',
  }),
  row('notifications/deliveries.jsonl', 'notifications/deliveries\\.jsonl(?:\\.old)?', {
    what: 'the log of deliveries',
    damaged: 'record',
    how: 'appended; the end may be missing after a power cut',
  }),
  row('issue-runs/*.txt', 'issue-runs/[0-9a-f]{64}\\.txt', {
    what: 'the runs of the issues of a project',
    damaged: 'rebuilt',
    how: 'atomic, synced before the run exists; found again from the journals',
  }),
  row('runs/<run>/journal.jsonl', `${RUN}/journal\\.jsonl`, {
    what: 'all events of a run (source of truth)',
    damaged: 'reported',
    how: 'appended and synced; an incomplete last line, or one of zeros, is removed; missing, repeated and moved lines are recognized by their numbers',
  }),
  row('runs/<run>/run.json', `${RUN}/run\\.json`, {
    what: 'settings and summary of a run',
    damaged: 'reported',
    how: 'atomic, synced; everything except the settings is rebuilt from the journal',
  }),
  row('runs/<run>/checkpoints/state.json', `${RUN}/checkpoints/state\\.json`, {
    what: 'the state computed from the journal',
    damaged: 'rebuilt',
    how: 'atomic; folded from the journal',
  }),
  row('runs/<run>/progress.md, history.md', `${RUN}/(?:progress|history)\\.md`, {
    what: 'reports of the run for people',
    damaged: 'rebuilt',
    how: 'atomic; rebuilt from the journal with the next story',
  }),
  row('runs/<run>/agent.log, events.jsonl', `${RUN}/(?:agent\\.log|events\\.jsonl)`, {
    what: 'output of the agents',
    damaged: 'record',
    how: 'appended; the end may be missing after a power cut',
  }),
  row('runs/<run>/artifacts/**, debug_bundle/**', `(?:${ATTEMPT}|${RUN}/debug_bundle)/.+`, {
    what: 'artifacts of attempts, and the debug bundle',
    damaged: 'record',
    how: 'the proof of a commit is on the disk before the commit lands, and also in its note',
  }),
  row('repos/<repository>/mirror.git/**', `${MIRROR}/mirror\\.git/.+`, {
    what: 'mirror of the repository',
    damaged: 'rebuilt',
    how: 'synced; rebuilt from the repository',
  }),
  row('repos/<repository>/source', `${MIRROR}/source`, {
    what: 'the repository of which the mirror has the objects',
    damaged: 'rebuilt',
    how: 'atomic and synced, before the mirror has objects; rebuilt from the name of the mirror',
  }),
  row('repos/<repository>/held.git/**', `${MIRROR}/held\\.git/.+`, {
    what: 'commits that wait for approval',
    damaged: 'reported',
    how: 'synced; its settings are rebuilt',
  }),
  row(
    'repos/<repository>/views/<commit>/**',
    `${MIRROR}/views/[0-9a-f]{40}(?:-[0-9a-f]{32})?/pack-[0-9a-f]{40}\\.(?:pack|idx)`,
    {
      what: 'links to packs with the history of a commit, for sandboxes',
      damaged: 'rebuilt',
      how: 'synced; removed when git fails, and rebuilt from the mirror',
    },
  ),
  row(
    'repos/<repository>/refs/<run>/**',
    `${MIRROR}/refs/[0-9a-z]{15}/(?:workspace-refs|pack-[0-9a-f]+\\.(?:pack|idx|rev))`,
    {
      what: 'tags and the branch that the workspaces of a run show',
      damaged: 'rebuilt',
      how: 'synced before the folder has its name; read again from the repository if it is damaged',
    },
  ),
  row('repos/<repository>/evidence/*.json', `${MIRROR}/evidence/[0-9a-f]{64}\\.json`, {
    what: 'gate results of a commit',
    damaged: 'rebuilt',
    how: 'atomic; the gates run again',
  }),
  row('redis/**', 'redis/(?:appendonlydir/.+|redis\\.(?:sock|pid|log)|damaged/.+)', {
    what: 'the queue, budgets and rates of halo’s own Redis',
    damaged: 'rebuilt',
    how: 'set aside when damaged, and rebuilt from the journals',
  }),
  row('worktrees/<run>/**', 'worktrees/[0-9a-z]{15}/.+', {
    what: 'checkouts of landed commits',
    damaged: 'record',
    how: '`git reset --hard` restores them',
  }),
];

/** What a power cut or a bad disk makes of a file. */
export const DAMAGES: Record<string, (content: Buffer) => Buffer> = {
  empty: () => Buffer.alloc(0),
  zeros: (content) => Buffer.alloc(content.length),
  'cut in half': (content) => content.subarray(0, Math.floor(content.length / 2)),
  'random bytes': (content) => Buffer.from(content.map((_byte, index) => (index * 197 + 131) % 251)),
};
