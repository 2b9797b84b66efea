import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHttp } from '../../../src/api/http/http-client.ts';
import { parseConfigFile } from '../../../src/config/load/config-file.ts';
import { resolveConfig } from '../../../src/config/resolve.ts';
import { AGENT_IDS } from '../../../src/core/agent.ts';
import { RIGHTS, rightsOf, type Right } from '../../../src/core/access/access.ts';
import { openHome, type HaloHome } from '../../support/halo/halo-process.ts';
import { connectHttp, connectStdio, type McpClient } from '../../support/mcp-client.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { homeFile, KEY_TABLE, type Outcome, type Try } from '../../support/settings/key-table.ts';

/**
 * Cells of the table of keys, sources and roles, sent to a real `halo serve`, and compared with the settings that the run
 * has: all cells in the full suite, else one of each kind, because the rules of all keys are those of
 * test/config/repository-file.test.ts. A request tries all keys; the refused ones are named in the error, and the next
 * request is without them.
 */

let home: HaloHome;
let url = '';
const tokens: Record<string, string> = {};
let repository: TestRepository;

const PRD = '{"userStories":[{"id":"A","title":"A","acceptanceCriteria":["It works."]}]}';
/** In the repository, so that what lands is marked in it. */
const PATH = () => join(repository.root, 'prd.json');
const FILES = ['prompts/engineer.md', 'docs/standards.md', 'docs/vision.md'];

beforeAll(async () => {
  home = openHome();
  const server = home.start(['serve', '--listen', '127.0.0.1:0'], { cwd: home.dir });
  await server.says('token ');
  url = /api +(\S+)/.exec(server.stdout())?.[1] ?? '';
  tokens.owner = readFileSync(join(home.dir, 'api-token'), 'utf8').trim();
  const owner = openHttp({ url, token: tokens.owner });
  for (const role of ['submitter', 'operator', 'admin'] as const) {
    await owner.addUser({ name: role, role });
    tokens[role] = (await owner.createToken({ name: role })).token;
  }
  repository = newRepository(Object.fromEntries(FILES.map((path) => [path, '# Tests\n'])));
  repository.write('prd.json', PRD);
});
afterAll(async () => {
  for (const client of clients) await (await client).close();
  await home.close();
});

type Submit = (set: string[]) => Promise<string>;

/** A submit of a user over HTTP; throws what the server answers. Returns the id of the run. */
const overHttp =
  (name: string): Submit =>
  async (set) => {
    const prd = { path: PATH(), bytes: Buffer.from(PRD) };
    const operations = openHttp({ url, token: tokens[name]! });
    const [run] = (
      await operations.submit({ prd, repos: [repository.root], set, profile: undefined, allowDirty: true })
    ).runs;
    return run!.runId;
  };

const asBatch =
  (name: string): Submit =>
  async (set) => {
    const prd = { path: PATH(), bytes: Buffer.from(PRD) };
    const operations = openHttp({ url, token: tokens[name]! });
    const members = [{ name: 'only', repo: repository.root, prd, deps: [] }];
    const [run] = (await operations.submitBatch({ members, set, profile: undefined, allowDirty: true })).runs;
    return run!.runId;
  };

const clients: Promise<McpClient>[] = [];

/** A submit of an agent, which stays connected. */
function overMcp(connect: () => Promise<McpClient>): Submit {
  let client: Promise<McpClient> | undefined;
  return async (set) => {
    if (client === undefined) clients.push((client = connect()));
    const repos = [repository.root];
    const submitted = await (
      await client
    ).call('halo_submit', { prd: PRD, path: PATH(), repos, set, allowDirty: true });
    return (submitted.runs as { runId: string }[])[0]!.runId;
  };
}

/** Who sends a request, and what they may cause. */
const SENDERS: [sender: string, rights: Right[], submit: Submit, decide?: true][] = [
  ['a submitter', rightsOf('submitter'), overHttp('submitter')],
  ['a submitter of a batch', rightsOf('submitter'), asBatch('submitter')],
  ['an operator', rightsOf('operator'), overHttp('operator')],
  ['an admin', rightsOf('admin'), overHttp('admin')],
  ['the owner of the token', [...RIGHTS], overHttp('owner')],
  ['an agent of the owner over HTTP', [], overMcp(() => connectHttp(url, tokens.owner!))],
  ['an agent of an operator over HTTP', [], overMcp(() => connectHttp(url, tokens.operator!))],
  ['an agent on this machine', [], overMcp(() => connectStdio(home))],
  [
    'an agent on another machine, with the token of the server',
    [],
    overMcp(() => connectStdio({ dir: tempDir('other-machine') }, { HALO_URL: url, HALO_TOKEN: tokens.owner! })),
  ],
  [
    'an agent of a submitter that may decide',
    rightsOf('submitter'),
    overMcp(() => connectHttp(url, tokens.submitter!)),
    true,
  ],
  ['an agent of the owner that may decide', [...RIGHTS], overMcp(() => connectHttp(url, tokens.owner!)), true],
];

type Cell = Try & { key: string };

const CELLS: Cell[] = Object.entries(KEY_TABLE).flatMap(([key, tries]) => tries.map((each) => ({ key, ...each })));

/** All first tries of the keys, then all second ones: a key has one value at a time. */
const ALL_ROUNDS = [0, 1].map((number) => CELLS.filter(({ key, value }) => KEY_TABLE[key]?.[number]?.value === value));

/** A cell for each right and what it decides, each of another key. */
function sampleCells(): Cell[] {
  const kindOf = ({ right, file, request }: Cell) => JSON.stringify([right, file, request]);
  const sample = new Map<string, Cell>();
  for (const cell of CELLS)
    if (!sample.has(kindOf(cell)) && [...sample.values()].every(({ key }) => key !== cell.key))
      sample.set(kindOf(cell), cell);
  return [...sample.values()];
}

const ROUNDS = belowFull() === false ? ALL_ROUNDS : [sampleCells()];

/** The settings of a run, as its record has them. */
function configOf(runId: string): unknown {
  const record = JSON.parse(readFileSync(join(home.dir, 'runs', runId, 'run.json'), 'utf8')) as { config: unknown };
  return record.config;
}

/** The settings that a run has if the owner sets these. */
function expected({ set, repo }: { set: string[]; repo: string }): unknown {
  const path = join(home.dir, 'config.toml');
  const { config } = resolveConfig({
    home: parseConfigFile(path, readFileSync(path, 'utf8')),
    repo: parseConfigFile(join(repository.root, 'halo.toml'), repo),
    set,
    cwd: home.dir,
  });
  return JSON.parse(JSON.stringify(config));
}

/** Writes config.toml with what the cells are compared with. */
function writeHome(cells: readonly Cell[], decide: boolean, more: Record<string, string> = {}): void {
  const base = Object.fromEntries(cells.flatMap(({ key, base }) => (base === undefined ? [] : [[key, base]])));
  writeFileSync(join(home.dir, 'config.toml'), homeFile({ ...base, ...more, 'mcp.decide': String(decide) }));
}

/** Sends cells until the rest is accepted. Returns the refused keys, and the run. */
async function sendAll(
  cells: readonly Cell[],
  submit: (cells: readonly Cell[]) => Promise<string>,
): Promise<{ refused: string[]; runId: string }> {
  let left = cells;
  for (;;) {
    try {
      const runId = await submit(left);
      return { refused: cells.filter((cell) => !left.includes(cell)).map(({ key }) => key), runId };
    } catch (error) {
      const words = (error as Error).message.split(/[\s,"]+/).map((word) => word.replace(/:$/, ''));
      const named = left.filter(({ key }) => words.some((word) => word === key || word.startsWith(`${key}.`)));
      if (named.length === 0) throw error;
      left = left.filter((cell) => !named.includes(cell));
    }
  }
}

const outcomeIn = (outcomes: readonly [Outcome, Outcome], right: Right, rights: readonly Right[]): Outcome =>
  outcomes[rights.includes(right) ? 1 : 0];

interface Case {
  sender: string;
  which: string;
  cells: readonly Cell[];
  rights: readonly Right[];
  submit: Submit;
  decide: boolean;
}

const CASES: Case[] = SENDERS.flatMap(([sender, rights, submit, decide = false]) =>
  ROUNDS.map((cells, index) => ({ sender, which: index === 0 ? 'first' : 'second', cells, rights, submit, decide })),
);

describe('incident request-options, incident mcp-approve: every key, of every source, for every role', () => {
  it.each(CASES)('$sender sets with options what the table says: $which values', async ({ cells: all, ...sending }) => {
    // Over MCP, no more than 50 settings.
    for (let from = 0; from < all.length; from += 50) await tryOptions(all.slice(from, from + 50), sending);
  });

  it.each(casesAtLevel(AGENT_IDS.slice(0, 1), AGENT_IDS.slice(1)))(
    'a submitter sets the options of %s',
    async (agent) => {
      const cells = ALL_ROUNDS[0]!.filter(({ key }) => key.startsWith(`agents.${agent}.`));
      await tryOptions(cells, { rights: [], submit: overHttp('submitter'), decide: false }, { agent: `"${agent}"` });
    },
  );

  it.each(CASES.filter(({ sender }) => /^(an operator|a submitter|an agent of the owner over HTTP)$/.test(sender)))(
    '$sender submits a repository whose file sets what the table says: $which values',
    async ({ cells, rights, submit, decide }) => {
      writeHome(cells, decide);
      const fileOf = (some: readonly Cell[]) => some.map(({ key, value }) => `${key} = ${value}\n`).join('');
      const { refused, runId } = await sendAll(cells, (left) => {
        repository.write('halo.toml', fileOf(left));
        return submit([]);
      });
      const outcomeOf = ({ file, right }: Cell) => outcomeIn(file, right, rights);
      expect(refused).toEqual(cells.filter((cell) => outcomeOf(cell) === 'refused').map(({ key }) => key));
      const repo = fileOf(cells.filter((cell) => outcomeOf(cell) === 'sets'));
      expect(configOf(runId)).toEqual(expected({ set: [], repo }));
      repository.write('halo.toml', '');
    },
  );
});

describe('incident request-options, incident mcp-approve: the rules of the owner', () => {
  const refused = async (submit: Submit, set: string[]): Promise<string> =>
    submit(set).then(
      () => 'accepted',
      (error: Error) => error.message,
    );
  const AGENT = overMcp(() => connectHttp(url, tokens.owner!));

  it.each([
    ['a submitter', overHttp('submitter')],
    ['an operator', overHttp('operator')],
    ['an agent', AGENT],
  ])('%s adds protected paths and excludes none', async (_who, submit) => {
    writeHome([], false, { 'land.protect': '["ci/**"]' });
    expect(await refused(submit, ['land.protect=["!**"]'])).toContain('a request may only add to the list');
    const runId = await submit(['land.protect=["src/**"]']);
    expect(configOf(runId)).toMatchObject({ land: { protect: ['src/**', 'ci/**'] } });
  });

  it('a submitter needs gates; an operator may submit a run without', async () => {
    writeFileSync(join(home.dir, 'config.toml'), 'agent = "command"\nagents.command.run = "true"\n');
    const without = (name: string) =>
      openHttp({ url, token: tokens[name]! })
        .submit({
          prd: { path: PATH(), bytes: Buffer.from(PRD) },
          ...{ repos: [repository.root], set: [], profile: undefined, allowDirty: true, withoutGates: true },
        })
        .then(({ runs }) => runs);
    await expect(without('submitter')).rejects.toMatchObject({ code: 'ACCESS_DENIED' });
    await expect(without('operator')).resolves.toHaveLength(1);
  });

  it('a submitter cannot leave out a gate of the own run in a retry', async () => {
    writeHome([], false, { gates: '["npm test"]' });
    const { retry, cancel } = openHttp({ url, token: tokens.submitter! });
    const runId = await overHttp('submitter')([]);
    await cancel({ runId });
    const set = (gates: string) => retry({ runId, set: [`gates=${gates}`], yes: true });
    await expect(set('["true"]')).rejects.toThrow('a request needs the right to land');
    await expect(set('["npm test", "npm run lint"]')).resolves.toMatchObject({ runId });
  });

  it('a submitter cannot choose a profile of the server that lands', async () => {
    writeHome([], false, { 'profiles.release.land.mode': '"ff"' });
    const choose = (name: string) =>
      openHttp({ url, token: tokens[name]! })
        .submit({
          prd: { path: PATH(), bytes: Buffer.from(PRD) },
          ...{ repos: [repository.root], set: [], profile: 'release', allowDirty: true },
        })
        .then(({ runs }) => runs);
    await expect(choose('submitter')).rejects.toThrow('land.mode: a request needs the right to land');
    await expect(choose('operator')).resolves.toHaveLength(1);
  });

  it('a submitter gets a warning of what in the repository does not count', async () => {
    writeHome([], false);
    repository.write('halo.toml', 'land.mode = "ff"\n');
    const [run] = (
      await openHttp({ url, token: tokens.submitter! }).submit({
        prd: { path: PATH(), bytes: Buffer.from(PRD) },
        ...{ repos: [repository.root], set: [], profile: undefined, allowDirty: true },
      })
    ).runs;
    repository.write('halo.toml', '');
    expect(run!.warnings.join()).toContain('land.mode does not count for this run');
  });
});

async function tryOptions(
  cells: readonly Cell[],
  { rights, submit, decide }: Pick<Case, 'rights' | 'submit' | 'decide'>,
  more: Record<string, string> = {},
): Promise<void> {
  writeHome(cells, decide, more);
  const send = (left: readonly Cell[]) => submit(left.map(({ key, value }) => `${key}=${value}`));
  const { refused, runId } = await sendAll(cells, send);
  const isRefused = ({ request, right }: Cell) => outcomeIn(request, right, rights) === 'refused';
  expect(refused).toEqual(cells.filter(isRefused).map(({ key }) => key));
  const set = cells.filter((cell) => !isRefused(cell)).map(({ key, value }) => `${key}=${value}`);
  expect(configOf(runId)).toEqual(expected({ set, repo: '' }));
}
