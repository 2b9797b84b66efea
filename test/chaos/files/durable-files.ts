/**
 * What becomes of a file that was damaged. `rebuilt`: it is made again from what else there is, or done without;
 * `told`: nothing else knows what was in it, so one sentence names it; `record`: for people, halo does not need it.
 */
export type Damaged = 'rebuilt' | 'told' | 'record';

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
    damaged: 'told',
    how: 'written once, synced',
  }),
  row('config.toml', 'config\\.toml', {
    what: 'your settings',
    damaged: 'told',
    how: 'yours; halo never writes it',
  }),
  row('api-token', 'api-token', { what: 'the token of the HTTP API', damaged: 'told', how: 'written once, synced' }),
  row('sandbox-proof.json', 'sandbox-proof\\.json', {
    what: 'what engines were proven to keep',
    damaged: 'rebuilt',
    how: 'atomic; proven again',
  }),
  row('keys/*.json', 'keys/[0-9a-f]{64}\\.json', {
    what: 'runs that submits with a key made',
    damaged: 'told',
    how: 'atomic, synced before the runs are there',
  }),
  row('breakers/*.json', 'breakers/[0-9a-f]{32}\\.json', {
    what: 'breakers that runs share',
    damaged: 'rebuilt',
    how: 'atomic; counts as closed, and fills again',
  }),
  row(
    'workers/*, locks/*, **/*lock',
    '(?:workers/(?:any|own)-[0-9a-f]{16}|locks/prd-[0-9a-f]{16}|(?:.+/)?[^/]*\\.?lock)',
    {
      what: 'who is at work, and locks: links that name a process',
      damaged: 'rebuilt',
      how: 'free when that process is gone, or the machine was started again',
    },
  ),
  row('runs/<run>/journal.jsonl', `${RUN}/journal\\.jsonl`, {
    what: 'the truth of a run',
    damaged: 'told',
    how: 'appended and synced; a torn last line, or one of zeros, is cut off',
  }),
  row('runs/<run>/run.json', `${RUN}/run\\.json`, {
    what: 'the settings of a run, and a summary',
    damaged: 'told',
    how: 'atomic, synced; all but the settings is rebuilt from the journal',
  }),
  row('runs/<run>/checkpoints/state.json', `${RUN}/checkpoints/state\\.json`, {
    what: 'the state that the journal adds up to',
    damaged: 'rebuilt',
    how: 'atomic; folded from the journal',
  }),
  row('runs/<run>/progress.md, history.md', `${RUN}/(?:progress|history)\\.md`, {
    what: 'the run for people',
    damaged: 'rebuilt',
    how: 'atomic; rebuilt from the journal with the next story',
  }),
  row('runs/<run>/agent.log, events.jsonl', `${RUN}/(?:agent\\.log|events\\.jsonl)`, {
    what: 'what was printed',
    damaged: 'record',
    how: 'appended; the end may be missing after a power cut',
  }),
  row('runs/<run>/artifacts/**, debug_bundle/**', `(?:${ATTEMPT}|${RUN}/debug_bundle)/.+`, {
    what: 'what attempts left, and what explains a failure',
    damaged: 'record',
    how: 'the proof of a commit is in its note as well',
  }),
  row('repos/<repository>/mirror.git/**', `${MIRROR}/mirror\\.git/.+`, {
    what: 'the commits that halo works with',
    damaged: 'rebuilt',
    how: 'synced; made again from the repository',
  }),
  row('repos/<repository>/held.git/**', `${MIRROR}/held\\.git/.+`, {
    what: 'commits that wait for a person',
    damaged: 'told',
    how: 'synced; its settings are rebuilt',
  }),
  row(
    'repos/<repository>/views/<commit>/**',
    `${MIRROR}/views/[0-9a-f]{40}(?:-[0-9a-f]{16})?/pack-[0-9a-f]{40}\\.(?:pack|idx)`,
    {
      what: 'links to packs with what a commit reaches, for sandboxes',
      damaged: 'rebuilt',
      how: 'synced; removed when git fails, and made again from the mirror',
    },
  ),
  row('repos/<repository>/evidence/*.json', `${MIRROR}/evidence/[0-9a-f]{64}\\.json`, {
    what: 'what gates said of a commit',
    damaged: 'rebuilt',
    how: 'atomic; the gates run again',
  }),
  row('redis/**', 'redis/(?:appendonlydir/.+|redis\\.(?:sock|pid|log)|damaged/.+)', {
    what: 'the queue, budgets and rates of halo’s own Redis',
    damaged: 'rebuilt',
    how: 'set aside when it is damaged, and made again from the journals',
  }),
  row('worktrees/<run>/**', 'worktrees/[0-9a-z]{15}/.+', {
    what: 'checkouts of what runs landed',
    damaged: 'record',
    how: '`git reset --hard` brings them',
  }),
];

/** What a power cut or a bad disk makes of a file. */
export const DAMAGES: Record<string, (content: Buffer) => Buffer> = {
  empty: () => Buffer.alloc(0),
  zeros: (content) => Buffer.alloc(content.length),
  'cut in half': (content) => content.subarray(0, Math.floor(content.length / 2)),
  'random bytes': (content) => Buffer.from(content.map((_byte, index) => (index * 197 + 131) % 251)),
};
