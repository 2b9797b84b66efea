import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pino } from 'pino';
import { beforeAll, describe, expect, it } from 'vitest';
import { FolderRecords } from '../../../src/features/folder-queue/api/folder-records.ts';
import { Authenticator } from '../../../src/api/access/authenticate.ts';
import { Users } from '../../../src/api/access/users.ts';
import { openLocal } from '../../../src/api/local.ts';
import type { Operations } from '../../../src/api/operations.ts';
import { ensureToken } from '../../../src/api/http/api-token.ts';
import { readConfigFile } from '../../../src/config/load/config-file.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';
import { openRegistryCache } from '../../../src/gateway/registry/registry-cache.ts';
import { readHomeId } from '../../../src/queue/redis/connect-redis.ts';
import { transcribe } from '../../../src/core/transcript/transcript.ts';
import { AccessLog } from '../../../src/store/access/access-log.ts';
import { UserFiles } from '../../../src/store/access/user-files.ts';
import { openStore } from '../../../src/store/store.ts';
import { pruneDaily } from '../../../src/features/retention/worker/prune-daily.ts';
import { openBreakerStore } from '../../../src/store/breaker-files.ts';
import { IssueReportFiles, IssueRuns, PullFiles } from '../../../src/store/forge-files.ts';
import { startWorker } from '../../../src/worker/main.ts';
import { OK, openHalo, prdOf, scripted } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { casesAtLevel, FULL, LEVEL } from '../../support/suite/level.ts';
import { DAMAGES, DURABLE_FILES } from './durable-files.ts';
import { JournalFeed } from '../../../src/store/journal/journal-feed.ts';
import { writeOutages } from '../../../src/store/engine-outages.ts';
import { NotificationOutbox } from '../../../src/features/notifications/store/notification-outbox.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

const SETTINGS = scripted(`echo x > "$(date +%N)"; ${OK}`, ['true'], ['tests.baseline="always"']);

/** A home that was used for a while, and is not any more: each test has a copy of it. */
let whole: string;
let repository: TestRepository;
let landed: string;
let held: string;
let token: string;

const keyed = () => ({
  prd: prdOf([{ id: 'A' }]),
  repos: [repository.root],
  profile: undefined,
  set: [...SETTINGS, 'land.mode="worktree"', 'setup=["true"]', 'snapshot.inputs=["README.md"]'],
  allowDirty: false,
  key: 'the first',
});

beforeAll(async () => {
  repository = newRepository();
  whole = tempDir('halo-durable');
  const halo = await openHalo();
  writeFileSync(join(halo.home, 'config.toml'), '[fleet]\nmax = 4\n[keep]\nartifacts = "30d"\n');
  landed = (await halo.operations.submit(keyed())).runs[0]!.runId;
  await halo.untilEnd(landed);
  held = await halo.submit(repository.root, [{ id: 'B' }], [...SETTINGS, 'approval.mode="story"']);
  await halo.untilEnd(held);
  await halo.run(repository.root, [{ id: 'C' }], scripted('exit 1'));
  await ensureToken(halo.home);
  await addUser(halo.home);
  await openBreakerStore(halo.home).update('provider:x', (breaker) => ({
    breaker: { ...breaker, status: 'open', signs: [] },
    result: undefined,
  }));
  await halo.worker.close();
  await halo.operations.close();
  const store = openStore(halo.home, { transcribe });
  await pruneDaily(
    { home: halo.home, store, log: pino({ level: 'silent' }), now: Date.now },
    new AbortController().signal,
  );
  await new IssueReportFiles(halo.home).add(landed);
  await new PullFiles(halo.home).write(landed, {});
  await new PullFiles(halo.home, 'pull-reviews').write(landed, {});
  mkdirSync(join(halo.home, 'traces'));
  writeFileSync(join(halo.home, 'traces', `${landed}-9`), '');
  await addFolderRecord(halo.home);
  await new IssueRuns(halo.home, { forge: 'github', project: 'acme/shop' }).write([landed]);
  await cacheArchive(halo.home);
  await addNotification(halo.home);
  cpSync(halo.home, whole, { recursive: true, verbatimSymlinks: true });
  await halo.close();
});

/** Adds a user with a token that was used. */
async function addUser(home: string): Promise<void> {
  const who = { by: 'tester', now: new Date() };
  const users = new Users(home);
  await users.add({ name: 'ben', role: 'viewer' }, who);
  await users.remove('ben', who);
  await users.add({ name: 'ada', role: 'viewer' }, who);
  token = (await users.createToken('ada', undefined, who)).token;
  await identify(home);
}

function identify(home: string) {
  const log = new AccessLog(home);
  return new Authenticator({ ownerToken: 'x', users: new UserFiles(home), log }).identify(
    { from: 'header', token },
    '127.0.0.1',
  );
}

/** Records a PRD of a folder, as its queue does. */
async function addFolderRecord(home: string): Promise<void> {
  const records = new FolderRecords(home, '/prds');
  await records.open();
  const request = { key: 'a key' };
  await records.save({ name: '1.json', state: 'running', specHash: '3:a', request, content: '', runId: landed });
}

/** Leaves a notification that an endpoint has not received, and events that are not handed on. */
async function addNotification(home: string): Promise<void> {
  const outbox = new NotificationOutbox(home);
  const at = new Date().toISOString();
  const facts = {
    type: 'run.started',
    repository: 'shop',
    source: '/shop',
    user: 'me',
    title: 'a title',
    text: '',
  } as const;
  await outbox.add('team', { id: `${landed}-2`, at, run: landed, ...facts }, at);
  await outbox.record({ at, endpoint: 'team', ids: [`${landed}-2`], type: facts.type, run: landed, result: 'failed' });
  await outbox.note(['enginea1b2c3d4e-1893456000000']);
  await writeOutages(home, [{ engine: 'build-2', since: at, why: 'away' }]);
  await new JournalFeed(home).mark(landed, 0);
}

/** Keeps an archive of a registry, as the gateway does. */
async function cacheArchive(home: string): Promise<void> {
  const url = new URL('https://npm.example/left/-/left-1.0.0.tgz');
  const writer = await openRegistryCache(home).write({ url, authorization: undefined, starts: /^/ }, 1024 ** 2);
  if (writer === undefined) throw new Error('The cache cannot be written.');
  await pipeline(Readable.from([Buffer.from('an archive')]), writer.through, new PassThrough().resume());
  await writer.keep();
}

/** Relative to the home. */
function allFiles(home: string): string[] {
  const entries = readdirSync(home, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(home, join(entry.parentPath, entry.name)));
}

function copyOf(damage: (content: Buffer) => Buffer, isDamaged: (file: string) => boolean) {
  const home = tempDir('halo-damaged');
  cpSync(whole, home, { recursive: true, verbatimSymlinks: true });
  const files = allFiles(home).filter((file) => existsSync(join(home, file)) && isDamaged(file));
  const damaged = files.filter((file) => statSync(join(home, file)).isFile());
  for (const file of damaged) {
    const content = readFileSync(join(home, file));
    rmSync(join(home, file));
    writeFileSync(join(home, file), damage(content), { mode: 0o600 });
  }
  const host = hostOf(home);
  return { home, host, damaged, operations: openLocal({ host }) };
}

/** What asks for a file that nothing else can make again. */
const ASK: Record<string, (home: string, operations: Operations) => Promise<unknown>> = {
  id: (home) => readHomeId(home),
  'config.toml': (home) => readConfigFile(join(home, 'config.toml')),
  'api-token': (home) => ensureToken(home),
  'users/*.json': (home) => new Users(home).list(),
  'user-tokens/*.json': (home) => identify(home),
  'keys/*.json': (_home, operations) => operations.submit(keyed()).then(({ runs }) => runs),
  'folders/*/*.json': (home) => new FolderRecords(home, '/prds').all(),
  'runs/<run>/journal.jsonl': (_home, operations) => operations.getRun({ runId: landed }),
  'runs/<run>/run.json': (_home, operations) => operations.land({ runId: landed }),
  'repos/<repository>/held.git/**': (_home, operations) => operations.readDiff({ runId: held, story: 'B' }),
};

const REPORTED = DURABLE_FILES.filter(({ damaged }) => damaged === 'reported');
const SETTINGS_OF_HELD = /held\.git\/(?:HEAD|config|objects\/info\/alternates)$/;
const kinds = casesAtLevel(['zeros', 'cut in half'], ['empty', 'random bytes']);
const cases = REPORTED.flatMap(({ name, path }) => kinds.map((kind) => ({ name, path, kind })));

describe('hazard 50: a file of HALO_HOME is damaged', () => {
  it('the table lists exactly the files of a home', () => {
    const files = allFiles(whole);
    expect(files.filter((file) => !DURABLE_FILES.some(({ path }) => path.test(file)))).toEqual([]);
    const unused = DURABLE_FILES.filter(({ path }) => !files.some((file) => path.test(file)));
    expect(unused.map(({ name }) => name)).toEqual(['workers/*, locks/*, **/*lock']);
    expect(Object.keys(ASK)).toEqual(REPORTED.map(({ name }) => name));
  });

  it.each(cases)('$name, $kind: one sentence names it, and everything else works', async ({ name, path, kind }) => {
    const others = (file: string) => /^runs\//.test(file) && !file.includes(landed);
    const { home, operations, damaged } = copyOf(
      DAMAGES[kind]!,
      (file) => path.test(file) && !others(file) && !SETTINGS_OF_HELD.test(file),
    );
    try {
      expect(damaged).not.toEqual([]);
      const outcome = await ASK[name]!(home, operations).catch((error: unknown) => error);
      // Half of a file may be as good as all of it.
      const harmless =
        ['config.toml', 'api-token', 'runs/<run>/journal.jsonl'].includes(name) &&
        ['empty', 'cut in half'].includes(kind);
      if (!harmless || outcome instanceof Error) {
        expect(outcome).toBeInstanceOf(HaloError);
        const { code, message } = outcome as HaloError;
        expect(code).not.toBe('INTERNAL');
        expect(message).toContain(
          /\/([\w.-]+)(?:\/\*\*)?$/.exec(`/${name.replace('*.json', damaged[0]!.slice(5))}`)![1],
        );
      }
      expect((await operations.getRun({ runId: held })).state.stories).toMatchObject([
        { id: 'B', progress: 'needs_human' },
      ]);
    } finally {
      await operations.close();
    }
  });

  it.each(Object.entries(DAMAGES).filter(([kind]) => LEVEL >= FULL || kind === 'zeros'))(
    'everything that can be rebuilt, %s: runs are shown as before, and new ones land',
    { timeout: 180_000 },
    async (_kind, damage) => {
      const rebuilt = DURABLE_FILES.filter((each) => each.damaged !== 'reported');
      const { host, operations } = copyOf(
        damage,
        (file) => SETTINGS_OF_HELD.test(file) || rebuilt.some(({ path }) => path.test(file)),
      );
      const worker = await startWorker({ host, concurrency: 2, log: pino({ level: 'silent' }) });
      try {
        const shown = (await operations.listRuns()).runs.map(({ runId, status }) => [runId, status]);
        expect(shown).toHaveLength(3);
        const [submitted] = (await operations.submit({ ...keyed(), key: undefined, fromHead: true })).runs;
        const { runId } = submitted!;
        for await (const {
          event: { type },
        } of await operations.followEvents({ runId, after: 0, follow: true }))
          if (type === 'run.ended') break;
        const { state } = await operations.getRun({ runId });
        expect(state.stopReason, state.detail).toBe('SUCCESS');
        expect((await operations.getRun({ runId: landed })).state.stories).toMatchObject([
          { id: 'A', progress: 'passed' },
        ]);
        expect((await operations.readDiff({ runId: landed })).length).toBeGreaterThan(0);
        expect((await operations.readDiff({ runId: held, story: 'B' })).length).toBeGreaterThan(0);
      } finally {
        await worker.close();
        await operations.close();
      }
    },
  );

  it('hazard 57: a worker does not start in a copy of a home that exists', async () => {
    const [original, copy] = [tempDir('halo-original'), `${tempDir('halo-copy')}/home`];
    cpSync(whole, original, { recursive: true, verbatimSymlinks: true });
    const start = async (home: string) =>
      (await startWorker({ host: hostOf(home), concurrency: 1, log: pino({ level: 'silent' }) })).close();
    await start(original);
    cpSync(original, copy, { recursive: true, verbatimSymlinks: true });
    const names = expect.stringContaining(`${copy} is a copy of ${original}`) as string;
    await expect(start(copy)).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: names });
  });

  it('the table matches test/chaos/faults.md', () => {
    const page = resolve(import.meta.dirname, '../faults.md');
    const table = /(^\| file .*\n\| ---.*\n)((?:\|.*\n)*)/m;
    const rows = DURABLE_FILES.map(
      ({ name, what, damaged, how }) => `| \`${name}\` | ${what} | ${damaged} | ${how} |\n`,
    );
    const text = readFileSync(page, 'utf8');
    // With HALO_TEST_RECORD, this test rewrites the page.
    if (process.env.HALO_TEST_RECORD !== undefined)
      writeFileSync(
        page,
        text.replace(table, (_all, head: string) => head + rows.join('')),
      );
    else expect(table.exec(text)?.[2]).toBe(rows.join(''));
  });
});
