import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { beforeAll, describe, expect, it } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const STORIES = ['US-001', 'US-002', 'US-003'];

let home: string;
let printed: string;
let repo: string;
let runId: string;

beforeAll(async () => {
  home = tempDir('halo-quickstart');
  const { PATH, HOME, DOCKER_HOST } = process.env;
  const env = { PATH, HOME, DOCKER_HOST, HALO_HOME: home };
  const { all, exitCode } = await execa('bash', [join(ROOT, 'scripts', 'quickstart.sh')], {
    cwd: tmpdir(),
    env,
    extendEnv: false,
    all: true,
    reject: false,
  });
  expect(exitCode, all).toBe(0);
  printed = all;
  const [place] = readdirSync(join(home, 'quickstart'));
  repo = join(home, 'quickstart', place!, 'todo');
  [runId] = readdirSync(join(home, 'runs')) as [string];
}, 600_000);

async function git(...args: string[]): Promise<string> {
  return (await execa('git', args, { cwd: repo })).stdout;
}

describe('npm run quickstart', () => {
  it('commits each story of the example, with trailers', async () => {
    const trailers = '%(trailers:key=Halo-Run,key=Halo-Story,key=Halo-Attempt,separator=;)';
    const log = await git('log', '--reverse', `--format=%s|${trailers}`, `main..halo/${runId}`);
    const titles = ['Mark a todo as done', 'List only what is open', 'Clear away what is done'];
    expect(log.split('\n')).toEqual(
      STORIES.map(
        (id, index) => `feat: [${id}] - ${titles[index]}|Halo-Run: ${runId};Halo-Story: ${id};Halo-Attempt: 1`,
      ),
    );
  });

  it('creates a repository whose fresh clone passes the gates and satisfies the stories', async () => {
    const clone = join(home, 'clone');
    await git('clone', '--quiet', '--branch', `halo/${runId}`, repo, clone);
    expect(existsSync(join(clone, 'cassettes'))).toBe(false);
    const options = { cwd: clone, env: { TODO_FILE: join(home, 'todo.json') } };
    await execa('node', ['--test'], options);
    await execa('npm', ['run', 'check'], options);
    const todo = async (...args: string[]) => (await execa('node', ['src/cli.js', ...args], options)).stdout;
    await todo('add', 'buy milk');
    await todo('add', 'bake bread');
    await todo('done', '1');
    expect(await todo('list')).toBe('1. [x] buy milk\n2. [ ] bake bread');
    expect(await todo('list', '--open')).toBe('2. [ ] bake bread');
    expect(await todo('clear')).toBe('removed 1 todo');
  });

  it('shows the commits, the gates, the run directory and the next steps', () => {
    expect(printed).toMatch(/git log --stat main\.\.halo\/.*\n\ncommit [0-9a-f]{7}\n {4}feat: \[US-001\]/);
    expect(printed).toContain(`Halo-Run: ${runId}  Halo-Story: US-002  Halo-Attempt: 1`);
    expect(printed).toMatch(/ src\/list\.js +\| +\d+ \+/);
    for (const id of STORIES)
      expect(printed).toMatch(new RegExp(`^${id} +passed +npm test [\\d.]+ s, npm run check [\\d.]+ s$`, 'm'));
    expect(printed).toContain(`The run directory: ${join(home, 'runs', runId)}`);
    expect(printed).toContain(`halo land ${runId}`);
  });

  it('leaves the checkout unchanged, except for the stories marked in the PRD', async () => {
    expect(await git('rev-list', '--count', 'main')).toBe('1');
    expect(await git('status', '--porcelain')).toBe(' M prd.json');
    const lines = (await git('diff', '-U0', 'prd.json')).split('\n').filter((line) => /^[-+] /.test(line));
    const changed = lines.map((line) => line.replace(/[\s,]+/g, ' ').trim());
    expect(changed).toEqual(STORIES.flatMap(() => ['- "passes": false', '+ "passes": true']));
  });

  it('records the version of the agent in run.json', () => {
    const record = JSON.parse(readFileSync(join(home, 'runs', runId, 'run.json'), 'utf8')) as { agent: unknown };
    expect(record.agent).toMatchObject({ name: 'codex', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string });
  });

  it('can be landed with halo land, including the marked PRD, once the removal of a test is confirmed', async () => {
    await execa(join(ROOT, 'bin', 'halo'), ['land', runId, '--confirm', 'tests'], {
      cwd: repo,
      env: { HALO_HOME: home },
    });
    expect(await git('rev-list', '--count', 'main')).toBe('4');
    expect(await git('status', '--porcelain')).toBe(' M prd.json');
  });
});

describe('the cassettes of the example', () => {
  const folder = join(ROOT, 'examples', 'todo', 'cassettes');
  const cassettes = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));

  it('state that no model wrote them', () => {
    expect(cassettes).toHaveLength(STORIES.length);
    for (const name of cassettes) {
      const [header] = readFileSync(join(folder, name), 'utf8').split('\n');
      expect((JSON.parse(header!) as { about: string }).about).toContain('not by a model');
    }
  });

  it('are small and contain no path of the machine that wrote them', () => {
    for (const name of cassettes) {
      const text = readFileSync(join(folder, name), 'utf8');
      expect(text.length).toBeLessThan(20_000);
      expect(text).not.toMatch(/127\.0\.0\.1|localhost|\/(tmp|home|root|workspace)\//);
    }
  });
});
