import { cpSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openHome } from '../support/halo/halo-process.ts';
import { readJournal } from '../support/halo/read-journal.ts';
import { collectProblems, hasChromium, startChromium } from '../support/network/chromium.ts';
import { skipFor } from '../support/skip.ts';
import { tempDir } from '../support/temp-dir.ts';

const EXAMPLE = resolve(import.meta.dirname, '../../examples/todo');
const PATIENCE = 400_000;
/** Phases that last long enough to be seen. */
const PHASES = ['prepare', 'agent', 'export', 'import', 'gates', 'land'];

/** The repository of the quick start, with its cassettes. */
async function makeExample(): Promise<string> {
  const root = join(tempDir('quick-start'), 'todo');
  cpSync(EXAMPLE, root, { recursive: true });
  const git = (...args: string[]) =>
    execa('git', ['-c', 'user.name=halo', '-c', 'user.email=halo@localhost', ...args], { cwd: root });
  await git('init', '--quiet', '--initial-branch=main');
  await execa('sh', ['-c', 'mkdir -p .git/info && echo /cassettes/ >> .git/info/exclude'], { cwd: root });
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'A to-do list for the command line');
  return root;
}

describe('the quick start with an open dashboard', skipFor(!hasChromium && 'chromium is missing'), () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser.close());

  it('shows each phase while it happens, then that the run has landed', async () => {
    const home = openHome();
    onTestFinished(() => home.close());
    const root = await makeExample();
    const server = home.start(['up', '--listen', '127.0.0.1:0'], { cwd: home.dir });
    await server.says('/api-token\n');
    const said = (name: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(server.stdout())?.[1] ?? '';
    const page = await browser.newPage();
    const problems = await collectProblems(page);
    await page.goto(said('dashboard'));
    await page.getByLabel('Token').fill(readFileSync(said('token'), 'utf8').trim());
    await page.getByRole('button', { name: 'Sign in with the token' }).click();
    await page.getByText('No runs yet.').waitFor();

    const submitted = await home.halo(['submit', 'prd.json'], { cwd: root });
    expect(submitted, submitted.stderr).toMatchObject({ code: 0 });
    const runId = home.runIds()[0]!;
    await page.goto(`${said('dashboard')}#/run/${runId}`);
    // Keeps every phase that the list of stories shows while the story is in progress.
    await page.evaluate(`(() => {
      window.seen = {};
      const look = () => {
        for (const link of document.querySelectorAll('a[href*="/story/"]'))
          for (const phase of ${JSON.stringify(PHASES)})
            if (new RegExp('\\\\b' + phase + '\\\\b').test(link.textContent)) window.seen[phase] ??= Date.now();
      };
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
      look();
    })()`);
    await page.getByRole('button', { name: 'Land' }).waitFor({ timeout: PATIENCE });
    const seen = await page.evaluate<Record<string, number>>('window.seen');
    const endedAt = (phase: string) =>
      readJournal(home.dir, runId)
        .filter((event) => event.type === 'phase.ended' && event.phase === phase)
        .map(({ at }) => Date.parse(at));
    for (const phase of PHASES) {
      expect(seen, phase).toHaveProperty(phase);
      // Of three stories, the last one had not completed the phase yet.
      expect(seen[phase], phase).toBeLessThan(Math.max(...endedAt(phase)));
    }
    await page.goto(`${said('dashboard')}#/inbox`);
    await page.getByRole('button', { name: 'Land', exact: true }).click();
    // The first story replaces a test.
    const question = page.getByRole('dialog', { name: /with what halo flags in it/ });
    await question.getByRole('button', { name: 'Land' }).click();
    await page.getByRole('heading', { name: 'Results to land' }).waitFor({ state: 'detached' });
    await page.goto(`${said('dashboard')}#/`);
    await page.locator('.state', { hasText: '✓ landed' }).first().waitFor();
    expect((await execa('git', ['rev-list', '--count', 'main'], { cwd: root })).stdout).toBe('4');
    await page.close();
    expect(problems).toEqual([]);
  }, 600_000);
});
