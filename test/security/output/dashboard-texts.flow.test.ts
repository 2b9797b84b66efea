import { describe, expect, it } from 'vitest';
import { asked, created, failed } from '../../support/journal.ts';
import { untilSettled } from '../../support/network/check-screen.ts';
import { hasChromium } from '../../support/network/chromium.ts';
import { shareDashboard } from '../../support/network/dashboard.ts';
import { skipFor } from '../../support/skip.ts';

const XSS = [
  '<img src=x onerror="window.pwned=1">',
  '<script>window.pwned=1</script>',
  '"><svg onload=window.pwned=1>',
  "javascript:window.pwned=1//'",
  '</title><iframe srcdoc="<script>parent.pwned=1</script>">',
].join(' ');

/** What a text could draw, without the pictures of the page itself. */
const DRAWN = 'main img, main script, main svg:not(.chart > svg, .copy > svg), iframe';

describe(
  'incident dashboard-texts: everything that the dashboard shows was written by an attacker',
  skipFor(!hasChromium && 'chromium is missing'),
  () => {
    const dashboard = shareDashboard();
    const { home, served, page, show } = dashboard;

    it('texts of agents and repositories create no element and run no script', async () => {
      const first = created('hostile1', [XSS]);
      const prd = { ...first.prd, project: XSS, stories: first.prd.stories.map((story) => ({ ...story, title: XSS })) };
      const repo = { ...first.repo, source: `/${XSS}`, branch: XSS };
      const say = {
        type: 'agent.activity',
        story: XSS,
        attempt: 1,
        activity: { kind: 'say', text: XSS },
      } as const;
      const ask = asked(XSS, XSS);
      await home.addRun([{ ...first, prd, repo }, { type: 'run.started' }, ask[0]!, say, ...ask.slice(1)]);
      const next = created('hostile2', [XSS]);
      const broken = failed(XSS).map((entry) => (entry.type === 'story.ended' ? { ...entry, summary: XSS } : entry));
      await home.addRun([{ ...next, prd, repo }, { type: 'run.started' }, ...broken]);
      const screens: [path: string, text: RegExp][] = [
        ['', /<img src=x/],
        ['inbox', /<img src=x/],
        ['run/hostile1', /<img src=x/],
        ['run/hostile2', /<img src=x/],
        ['spend', /^Spend/],
        ['failures', /<img src=x/],
        ['submit', /^Submit/],
        ['settings', /^Settings/],
        ['run/hostile1/diff', /<img src=x/],
      ];
      for (const [path, text] of screens) {
        await page.goto(`${served.url}/#/${path}`);
        await page.locator('main').getByText(text).first().waitFor();
        await untilSettled(page);
        expect(await page.locator(DRAWN).count()).toBe(0);
        expect(await page.evaluate('window.pwned')).toBeUndefined();
      }
      await show('run/hostile1', '<img');
      expect(await page.getByRole('log').textContent()).toContain('<img src=x');
      // The repository of these runs does not exist, so the diff is refused.
      const { problems } = dashboard;
      problems.splice(0, Infinity, ...problems.filter((text) => !text.startsWith('Failed to load resource')));
    });

    it('a reviewed diff, its paths, criteria, tests, gates and comments create no element and run no script', async () => {
      const path = '<img src=x onerror="window.pwned=1">/"><svg onload=window.pwned=1>.ts';
      const ref = { story: 'US-001', attempt: 1 };
      const claim = { n: 1, tests: [{ name: XSS, found: 'missing' as const }], files: [path, XSS] };
      await home.addHeldRun('hostile3', {
        ...{ title: XSS, acceptance: [XSS], protectedPaths: [path] },
        base: { [path]: `const old = '${XSS}';\n`, 'test/gone.test.ts': XSS },
        files: {
          [path]: `const now = \`${XSS}\u202e\`;\n// ${XSS}\n`,
          'a.md': XSS,
          'a.html': XSS,
          'test/gone.test.ts': null,
        },
        events: [
          { type: 'gate.ended', ...ref, command: XSS, exitCode: 1, ms: 1, log: 'gates/1.log' },
          { type: 'tests.compared', ...ref, before: 1, after: 1, removed: [XSS], skipped: [XSS], emptied: [XSS] },
          { type: 'criteria.claimed', ...ref, reported: true, criteria: [claim] },
        ],
      });
      await show('run/hostile3/diff/US-001', 'Review US-001');
      await page.getByText('const now = ').waitFor();
      for (const view of ['Split', 'Unified']) {
        await page.getByRole('button', { name: view, exact: true }).click();
        await page.getByRole('region', { name: path }).getByRole('button', { name: 'Comment on line 1' }).click();
        await page.getByRole('textbox', { name: 'Comment on line 1' }).fill(`${view} ${XSS}`);
        await page.getByRole('button', { name: 'Add comment' }).click();
        await page.reload();
        await page.getByRole('button', { name: /^Your comments/ }).click();
        await page.getByRole('region', { name: 'Your comments' }).getByText(`${view} <img`).waitFor();
        const shown = await page.locator('.diffs').innerText();
        for (const text of ['<img src=x onerror="window.pwned=1">', '<script>window.pwned=1</script>', '<U+202E>'])
          expect(shown).toContain(text);
        expect(await page.locator(DRAWN).count()).toBe(0);
        expect(await page.evaluate('window.pwned')).toBeUndefined();
      }
    });

    it('logs, prompts, diffs and names of an attempt create no element and run no script', async () => {
      const ref = { story: XSS, attempt: 1 };
      const log = `${XSS} \u001b]8;;javascript:window.pwned=1\u001b\\click\u001b]8;;\u001b\\ \u001b[31m${XSS}\u001b[0m \u202e`;
      const first = created('hostile4', [XSS, 'next']);
      const stories = first.prd.stories.map((story) => ({
        ...story,
        ...{ title: XSS, description: XSS, acceptance: [XSS], dependsOn: story.id === 'next' ? [XSS] : [] },
      }));
      const broken = failed(XSS).map((entry) => {
        if (entry.type === 'gate.ended') return { ...entry, command: XSS, tail: log };
        return entry.type === 'story.ended' ? { ...entry, summary: XSS } : entry;
      });
      await home.addRun([
        { ...first, user: XSS, prd: { ...first.prd, stories } },
        { type: 'run.started' },
        ...broken.slice(0, 4),
        { type: 'prompt.built', ...ref, tokens: 1, maxTokens: 2, sections: [{ name: XSS, file: XSS, tokens: 1 }] },
        { type: 'agent.launched', ...ref, agent: 'codex', model: XSS },
        {
          ...{ type: 'network.asked', ...ref, phase: 'agent', route: 'plain', method: 'GET', target: XSS },
          ...{ outcome: 'refused', status: 403, reason: XSS, bytes: 0, count: 1 },
        },
        ...broken.slice(4),
        { type: 'pull.opened', number: 1, url: 'javascript:window.pwned=1' },
        { type: 'run.ended', stopReason: 'PARTIAL', detail: XSS },
      ]);
      const key = (await home.operations.getRun({ runId: 'hostile4' })).state.stories[0]!.key;
      for (const name of ['gates/1.log', 'prompt.md', 'diff.patch', 'cassette.jsonl'])
        home.writeArtifact('hostile4', `${key}/1/${name}`, `diff --git a/${XSS} b/${XSS}\n+++ b/${XSS}\n${log}\n`);
      const story = `run/hostile4/story/${encodeURIComponent(XSS)}`;
      const tabs = ['log', 'agent', 'prompt', 'diff', 'network', 'usage', 'cassette'].map((tab) => `/attempt/1/${tab}`);
      for (const path of ['run/hostile4', ...['', ...tabs, '/compare/1/1'].map((part) => `${story}${part}`)]) {
        await page.goto(`${served.url}/#/${path}`);
        await page
          .locator('main h1')
          .getByText('<img')
          .or(page.getByRole('heading', { name: 'shop' }))
          .waitFor();
        await untilSettled(page);
        expect(await page.locator('main img, main script, main svg svg, main [onload], iframe').count()).toBe(0);
        expect(await page.locator('a[href^="javascript:"]').count()).toBe(0);
        expect(await page.evaluate('window.pwned')).toBeUndefined();
        expect(await page.locator('main').innerText()).not.toContain('\u202e');
      }
      await page.goto(`${served.url}/#/${story}/attempt/1/log`);
      const shown = page.getByRole('log').locator('.log-row').nth(2);
      await shown.getByText('<U+202E>').waitFor();
      expect(await shown.innerText()).toContain('<img src=x onerror="window.pwned=1">');
    });
  },
);
