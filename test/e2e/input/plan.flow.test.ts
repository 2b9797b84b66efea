import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openPlan } from '../../../src/features/plan/api/open-plan.ts';
import { composeServices } from '../../../src/cli/compose.ts';
import { modelAt, openModelHalo, type ModelHalo } from '../../support/halo/model-halo.ts';
import { openHome, type Ended, type HaloHome } from '../../support/halo/halo-process.ts';
import { openMemory } from '../../support/memory-operations.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { runCli } from '../../support/terminal/cli-world.ts';
import { filesWith } from '../../support/text/files-with.ts';
import { agentAdapter } from '../../../src/agents/registry.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';
import { PROGRAM_AGENTS } from '../../support/agent-ids.ts';

const PLAN = {
  status: 'ok',
  summary: 'The cart exists; the total is missing.',
  project: 'Shop',
  stories: [
    { id: 'US-002', title: 'Show the total', description: 'Sum up.', acceptance: ['It sums.'], dependsOn: ['US-001'] },
    { id: 'US-003', title: 'Pay', description: '', acceptance: ['It pays.'], dependsOn: ['US-002'] },
  ],
};
const NEW = { ...PLAN, stories: PLAN.stories.map((story) => ({ ...story, dependsOn: [] })) };

const DONE = '{ "id": "US-001",  "title": "Cart", "acceptanceCriteria": ["It adds."], "passes": true }';
const PRD = `{ "project": "Shop", "userStories": [
  ${DONE},
  { "id": "US-002", "title": "Total", "acceptanceCriteria": ["It sums."], "passes": false }
] }
`;

let home: HaloHome;
let repository: TestRepository;
beforeAll(() => {
  home = openHome();
});
afterAll(() => home.close());
beforeEach(() => {
  repository = newRepository({ 'spec.md': '# Totals\n\nShow a total.\n' });
});

const at = (path: string) => join(repository.root, path);
const read = (path: string) => readFileSync(at(path), 'utf8');

function addFiles(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) repository.write(path, text);
  repository.commit('more');
}

/** An agent that answers with this plan if `check` succeeds. */
function agentOf(answer: unknown, check = 'true'): string[] {
  const script = `cat > /tmp/prompt; ${check} || exit 9; printf %s '${JSON.stringify(answer)}' > "$HALO_RESULT"`;
  const settings = ['agent=command', `agents.command.run=${JSON.stringify(script)}`, 'retry.attempts=1'];
  return settings.flatMap((each) => ['-c', each]);
}

const halo = (words: string[], env: Record<string, string> = {}): Promise<Ended> =>
  callHalo(words, { cwd: repository.root, env: { HALO_HOME: home.dir, ...env } });
const plan = (words: string[], agent = agentOf(NEW), env: Record<string, string> = {}): Promise<Ended> =>
  halo(['plan', ...words, ...agent], env);

describe('halo plan', () => {
  it('makes a PRD from the repository, a goal and documents, which halo run accepts', async () => {
    writeFileSync(at('../notes.md'), 'Use euros.\n');
    const sees = `test -f spec.md && grep -q 'Show a total' spec.md && grep -q 'Use euros' /tmp/prompt && grep -q 'a quick total' /tmp/prompt`;
    const ended = await plan(['a quick total', '--from', '../notes.md', '--yes'], agentOf(NEW, sees));
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stdout).toContain('+      "title": "Show the total",');
    expect(ended.stderr).toContain('The cart exists; the total is missing.\n2 added: US-002, US-003\n');
    expect((await halo(['prd', 'validate', 'prd.json'])).code).toBe(0);
    expect(repository.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main');
    const [run] = JSON.parse((await halo(['ls', '--json'])).stdout) as object[];
    expect(run).toMatchObject({ dry: true, planning: true, agent: 'command', repo: { source: repository.root } });
  });

  it('updates an existing plan, and keeps its done stories byte for byte', async () => {
    writeFileSync(at('prd.json'), PRD);
    const ended = await plan(['--yes', '--json'], agentOf(PLAN, `grep -q '"title": "Cart"' /tmp/prompt`));
    expect(ended.code).toBe(0);
    expect(JSON.parse(ended.stdout)).toMatchObject({
      written: true,
      path: at('prd.json'),
      ...{ added: ['US-003'], changed: ['US-002'], removed: [], kept: ['US-001'], ignored: [] },
      usage: { requests: 0 },
    });
    expect(read('prd.json')).toContain(DONE);
    expect(JSON.parse(read('prd.json'))).toMatchObject({
      userStories: [{ passes: true }, { title: 'Show the total', dependsOn: ['US-001'] }, { id: 'US-003' }],
    });
    const again = await plan(['--yes'], agentOf(PLAN));
    expect(again).toMatchObject({ code: 0, stdout: expect.not.stringContaining('+++') as string });
    expect(again.stderr).toContain('prd.json is unchanged.');
  });

  it('writes Markdown, and a new file with --output, which leaves the existing plan as it is', async () => {
    expect(await plan(['--format', 'markdown', '--yes'])).toMatchObject({ code: 0 });
    expect(read('IMPLEMENTATION_PLAN.md')).toContain('- [ ] US-002: Show the total');
    writeFileSync(at('prd.json'), PRD);
    expect(await plan(['--output', 'new/next.json'], agentOf(PLAN))).toMatchObject({ code: 0 });
    expect(read('prd.json')).toBe(PRD);
    expect(read('new/next.json')).toContain(DONE);
    const twice = await plan(['--output', 'new/next.json'], agentOf(PLAN));
    expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining('exists already') as string });
  });

  it('gives the agent the files of [prompt], and begins with that of --prompt', async () => {
    const prompt = { before: 'build.md', standards: ['style.md'], vision: 'vision.md', specs: ['spec.md'] };
    const set = Object.entries(prompt).flatMap(([key, value]) => ['-c', `prompt.${key}=${JSON.stringify(value)}`]);
    addFiles({ 'build.md': 'BUILD IT', 'plan.md': 'THINK FIRST', 'style.md': 'TABS', 'vision.md': 'A SHOP' });
    const sees = (first: string) =>
      `head -n 1 /tmp/prompt | grep -qx '${first}' && grep -q TABS /tmp/prompt && grep -q 'A SHOP' /tmp/prompt && grep -q 'Show a total' /tmp/prompt`;
    expect(await plan(['--yes', ...set], agentOf(NEW, sees('BUILD IT')))).toMatchObject({ code: 0 });
    const named = ['--yes', ...set, '--prompt', 'plan.md'];
    expect(await plan(named, agentOf(NEW, `${sees('THINK FIRST')} && ! grep -q 'BUILD IT' /tmp/prompt`))).toMatchObject(
      {
        code: 0,
      },
    );
    const missing = await plan(['--yes', '--prompt', 'none.md']);
    expect(missing).toMatchObject({ code: 6, stderr: expect.stringContaining('prompt.before: none.md') as string });
  });

  it('begins with the committed PROMPT_plan.md of hank, and writes a new plan where hank has it', async () => {
    addFiles({ '.hank/PROMPT.md': 'BUILD IT', '.hank/PROMPT_plan.md': 'STUDY THE SPECS' });
    const before = ['-c', 'prompt.before=".hank/PROMPT.md"'];
    const ended = await plan(['--yes'], agentOf(NEW, `head -n 1 /tmp/prompt | grep -qx 'STUDY THE SPECS'`));
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toContain('The prompt begins with .hank/PROMPT_plan.md.');
    expect(read('.hank/IMPLEMENTATION_PLAN.md')).toContain('- [ ] US-002: Show the total');
    expect(existsSync(at('prd.json'))).toBe(false);
    const other = await plan(['--yes', ...before], agentOf(NEW, `head -n 1 /tmp/prompt | grep -qx 'BUILD IT'`));
    expect(other.code, other.stderr).toBe(0);
  });

  it.each([
    ['no terminal and no --yes', [], 2, 'Confirming the plan needs a terminal.'],
    ['a document that does not exist', ['--from', 'no.md', '--yes'], 6, 'There is no file'],
    ['a folder as a document', ['--from', '.', '--yes'], 6, 'it is a folder'],
    ['another format', ['--format', 'yaml', '--yes'], 2, 'yaml'],
    ['a plan that is a folder', ['--prd', '.git', '--yes'], 6, 'it is a folder'],
    ['a plan below a file', ['--prd', 'spec.md/plan.json', '--yes'], 6, 'spec.md is a file'],
    ['another repository', ['--repo', '/none', '--prd', 'x.json', '--yes'], 6, '/none'],
  ])('is refused for %s', async (_what, words, code, says) => {
    const ended = await plan(words);
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).toContain(says);
  });

  it('fails without writing if the existing plan or the answer is not valid, or the agent needs a human', async () => {
    writeFileSync(at('prd.json'), '{"userStories": 1}');
    expect(await plan(['--yes'])).toMatchObject({ code: 6, stderr: expect.stringContaining('PRD_INVALID') as string });
    const words = ['--prd', 'new.json', '--yes'];
    const none = await plan(words, agentOf({ status: 'ok', summary: 'Nothing to do.' }));
    expect(none).toMatchObject({
      code: 6,
      stderr: expect.stringContaining("The agent's plan is not valid: it has no list of stories.") as string,
    });
    const asks = await plan(words, agentOf({ status: 'needs_human', summary: 'Euros or dollars?', stories: [] }));
    expect(asks).toMatchObject({ code: 4, stderr: expect.stringContaining('Euros or dollars?') as string });
    expect(existsSync(at('new.json'))).toBe(false);
  });

  it('keeps secrets of the worker out of the prompt, even if a document contains them', async () => {
    const SECRET = 'canary-key-of-the-worker-5512';
    writeFileSync(at('../notes.md'), `The key is ${SECRET}.\n`);
    const check = `! grep -q ${SECRET.slice(0, 12)} /tmp/prompt`;
    const ended = await plan(['--from', '../notes.md', '--yes'], agentOf(NEW, check), { OPENAI_API_KEY: SECRET });
    expect(ended.code).toBe(0);
    expect(await filesWith(home.dir, SECRET)).toEqual([]);
  });
});

describe('halo plan at a terminal, and where hank has its plan', skipFor(belowFull()), () => {
  it('updates the plan of hank where it is', async () => {
    mkdirSync(at('.hank'));
    writeFileSync(at('.hank/IMPLEMENTATION_PLAN.md'), '# Plan\n\n- [#7] Cart [DONE]\n- [#42] Old\n');
    writeFileSync(at('prd.json'), PRD);
    expect(await plan(['--yes'])).toMatchObject({ code: 0 });
    expect(read('.hank/IMPLEMENTATION_PLAN.md')).toBe(
      '# Plan\n\n- [#7] Cart [DONE]\n- [#42] Old\n- [US-002] Show the total\n\n  Sum up.\n\n  - It sums.\n- [US-003] Pay\n  - It pays.\n',
    );
    expect(read('prd.json')).toBe(PRD);
  });

  it('asks at the terminal, and writes nothing without a confirmation or over a file that has changed', async () => {
    vi.stubEnv('HALO_HOME', home.dir);
    const asking = (answer: () => Promise<string>) =>
      runCli(['plan', ...agentOf(NEW)], {
        ...{ operations: openMemory(), services: composeServices([]), cwd: repository.root, ask: answer },
      });
    expect(await asking(() => Promise.resolve('n'))).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Nothing was written.\n') as string,
    });
    expect(existsSync(at('prd.json'))).toBe(false);
    const meanwhile = await asking(() => {
      writeFileSync(at('prd.json'), PRD);
      return Promise.resolve('y');
    });
    expect(meanwhile).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('has changed in the meantime') as string,
    });
    expect(read('prd.json')).toBe(PRD);
    vi.unstubAllEnvs();
  });
});

describe('halo plan with a real agent', () => {
  const KEY = 'sk-test-plan';
  let halo: ModelHalo;
  beforeAll(async () => (halo = await openModelHalo(KEY)));
  afterAll(() => halo.close());

  const others = PROGRAM_AGENTS.filter((agent) => agent !== 'codex');
  it.each(casesAtLevel<(typeof PROGRAM_AGENTS)[0]>(['codex'], others))(
    'gets the plan of %s, with usage and model',
    async (agent) => {
      const server = await halo.serve([
        { run: 'ls; echo x > new.txt', expect: ['Plan work', 'Show a total'] },
        { json: NEW, expect: ['Read-only file system'] },
      ]);
      const target = halo.newRepository({ 'README.md': 'hello' });
      const session = await openPlan({
        repo: target.root,
        goal: 'Show a total',
        documents: [],
        prd: join(target.root, 'prd.json'),
        output: undefined,
        format: 'json',
        profile: undefined,
        set: modelAt(server.url, [`agent=${agent}`]),
      });
      const [submitted] = (await halo.operations.submit(session.request)).runs;
      const state = await halo.untilEnd(submitted!.runId);
      expect(state).toMatchObject({ stopReason: 'SUCCESS', usage: { requests: 2 } });
      const [story] = state.stories;
      const result = await halo.operations.readArtifact({
        runId: state.runId,
        path: `${story!.key}/1/result.json`,
        whole: false,
      });
      expect(await session.read(result)).toMatchObject({ added: ['US-002', 'US-003'] });
      expect(server.remaining()).toBe(0);
      if (agentAdapter(agent).hasAnswerSchema === true)
        expect(server.requests[0]!.body).toMatch(/additionalProperties[^]*dependsOn|dependsOn[^]*additionalProperties/);
      const models = halo.journal(state.runId).flatMap((event) => (event.type === 'model.used' ? [event.model] : []));
      expect(models.length).toBeGreaterThan(0);
      expect(await filesWith(halo.home, KEY)).toEqual([]);
    },
  );
});
