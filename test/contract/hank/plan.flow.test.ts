import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { directoryOf, read, recordOf, settings } from '../../support/contracts/hanuman.ts';
import { OK } from '../../support/halo/halo.ts';
import { openHome } from '../../support/halo/halo-process.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { callHalo } from '../../support/terminal/call-halo.ts';
import { makeRepository, type TestRepository } from '../../support/repository/repository.ts';

const LONG = { timeout: 180_000 };
const PLAN = '.hank/IMPLEMENTATION_PLAN.md';

/** A project as hank sets one up, and `halo run` in it without an argument. */
function openProject(plan: string, files: Record<string, string> = {}) {
  const home = openHome();
  const repository = makeRepository({ [PLAN]: plan, '.hankrc': 'PROJECT_NAME="shop"\n', ...files });
  onTestFinished(async () => {
    await home.close();
    repository.remove();
  });
  const call = (words: string[], cwd = repository.root) => callHalo(words, { cwd, env: { HALO_HOME: home.dir } });
  const run = (script: string, more: string[] = []) => call(['run', ...settings(script, more)]);
  return { repository, call, run };
}

const planOf = (repository: TestRepository) => readFileSync(join(repository.root, PLAN), 'utf8');
const subjects = (repository: TestRepository, dir: string) =>
  repository.git('log', '--reverse', '--format=%s', `main..halo/${basename(dir)}`).split('\n');

/** Each story adds its own file. */
const ADDS = `id=$(grep -o '^#[0-9]*: ' | head -1 | tr -d '#: '); echo made > "$id.txt"; ${OK}`;

describe('the plan of a project of hank', () => {
  it('runs the plan of a project, story by story, and marks what has landed', LONG, async () => {
    const plan = '# Implementation Plan\n\n- [x] [#7] Set up\n- [ ] [#42] Add the cart\n- [ ] [#43] Check out\n';
    const { repository, run } = openProject(plan);
    const end = await run(ADDS);
    expect(end.code, end.stderr).toBe(0);
    const dir = directoryOf(end);
    // A number is written so that no forge takes it for a reference.
    expect(subjects(repository, dir)).toEqual(['feat: [# 42] - Add the cart', 'feat: [# 43] - Check out']);
    expect(planOf(repository)).toBe(plan.replaceAll('[ ]', '[x]'));
    expect(repository.git('ls-tree', '--name-only', `halo/${basename(dir)}`)).toContain('42.txt\n43.txt');
    // Everything is done: there is nothing to run, and nothing is made.
    const again = await run(ADDS);
    expect(again.stderr).toContain('UNLANDED');
  });

  it('is found by halo prd validate as well, from any folder of the repository', LONG, async () => {
    const { repository, call } = openProject('- [ ] [#42] Add the cart\n', { 'src/a.txt': '' });
    const end = await call(['prd', 'validate'], join(repository.root, 'src'));
    expect(end).toMatchObject({ code: 0, stderr: `PRD ${join(repository.root, PLAN)}\n` });
    expect(end.stdout).toContain('dialect  hank');
  });

  it('reads the HANK_STATUS block of a program, and continues a task that is in progress', LONG, async () => {
    const { run } = openProject('- [ ] [#42] Add the cart\n');
    const block = (status: string, exit: boolean) =>
      `printf -- '---HANK_STATUS---\\nSTATUS: ${status}\\nTESTS_STATUS: PASS\\nWORK_TYPE: feature\\nEXIT_SIGNAL: ${exit}\\nRECOMMENDATION: next #43\\n---END_HANK_STATUS---\\n'`;
    const script = `p=$(cat); echo x > x; case "$p" in *"last attempt failed"*) ${block('COMPLETE', true)};; *) ${block('IN_PROGRESS', false)};; esac`;
    const end = await run(script, ['agents.command.answer="signals"', 'retry.attempts=2']);
    expect(end.code, end.stderr).toBe(0);
    expect(recordOf(directoryOf(end)).progress.stories).toMatchObject([{ id: '#42', attempts: 2 }]);
    expect(read(directoryOf(end), 'progress.md')).toContain('next #43');
  });
});

// The marks are in test/prd/progress, prompts are in test/agents and test/cli.
describe('another plan of a project of hank', skipFor(belowFull()), () => {
  it('marks a plan of issues as hank does: with [DONE] at the end of the line', LONG, async () => {
    const plan = '# Implementation Plan\n\n- [#42] Add the cart\n- [#7] Set up [DONE]\n';
    const { repository, run } = openProject(plan);
    const end = await run(ADDS);
    expect(end.code, end.stderr).toBe(0);
    expect(planOf(repository)).toBe(plan.replace('Add the cart', 'Add the cart [DONE]'));
    expect(recordOf(directoryOf(end)).progress.completed).toContain('#42');
  });

  it('gives the agent the prompt and the specifications of the project', LONG, async () => {
    const { run } = openProject('- [ ] [#42] Add the cart\n', {
      '.hank/PROMPT.md': 'You build one item of the plan.\n',
      '.hank/specs/cart.md': 'A cart has at most 99 items.\n',
    });
    const more = ['prompt.before=".hank/PROMPT.md"', 'prompt.specs=[".hank/specs/**/*.md"]'];
    const end = await run(`cat > prompt.txt; ${OK}`, more);
    expect(end.code, end.stderr).toBe(0);
    const dir = directoryOf(end);
    const [key] = readdirSync(join(dir, 'artifacts'));
    const prompt = read(dir, `artifacts/${key}/1/prompt.md`);
    expect(prompt.startsWith('You build one item of the plan.')).toBe(true);
    expect(prompt).toContain('A cart has at most 99 items.');
  });
});
