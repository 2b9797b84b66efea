import { describe, expect, it, vi } from 'vitest';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';
import { PATIENCE } from '../support/patience.ts';
import { skipFor } from '../support/skip.ts';

/** What violates the policy of the dashboard, and the directive that forbids it. */
const VIOLATIONS = [
  ['style-src', `document.body.setAttribute('style', 'color: red')`],
  ['img-src', `document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/a.png' }))`],
  ['connect-src', `fetch('http://127.0.0.1:9/').catch(() => undefined)`],
  ['require-trusted-types-for', `try { document.body.innerHTML = '<b>a</b>' } catch {}`],
  [
    'frame-src',
    `document.body.append(Object.assign(document.createElement('iframe'), { src: 'http://127.0.0.1:9/' }))`,
  ],
];

describe('the problems of a page', skipFor(!hasChromium && 'chromium is missing'), () => {
  const { page, problems, signIn } = useDashboard();

  it('include violations of its policy, exceptions, and errors of the console: each test expects none', async () => {
    await signIn();
    for (const [directive, program] of VIOLATIONS) {
      await page.evaluate(`${program}; undefined`);
      const violated = expect.stringMatching(`^policy violated: ${directive}`) as string;
      await vi.waitFor(() => expect(problems).toContainEqual(violated), PATIENCE);
    }
    await page.evaluate(
      `setTimeout(() => { console.error('from the console'); throw new Error('from a script') }); undefined`,
    );
    const expected = [expect.stringContaining('from the console'), expect.stringContaining('from a script')];
    await vi.waitFor(() => expect([...problems]).toEqual(expect.arrayContaining(expected)), PATIENCE);
    problems.splice(0);
  });
});
