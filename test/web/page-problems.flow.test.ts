import { beforeEach, describe, expect, it, vi } from 'vitest';
import { hasChromium } from '../support/network/chromium.ts';
import { useDashboard } from '../support/network/dashboard.ts';
import { skipFor } from '../support/skip.ts';
import { PATIENCE } from '../support/patience.ts';

describe(
  'the problems of a page, of which each test expects none',
  skipFor(!hasChromium && 'chromium is missing'),
  () => {
    const dashboard = useDashboard();

    beforeEach(() => dashboard.signIn());

    it.each([
      ['an inline style', 'style-src', `document.body.setAttribute('style', 'color: red')`],
      [
        'an image of another server',
        'img-src',
        `document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/a.png' }))`,
      ],
      ['a request to another server', 'connect-src', `fetch('http://127.0.0.1:9/').catch(() => undefined)`],
      ['HTML from text', 'require-trusted-types-for', `try { document.body.innerHTML = '<b>a</b>' } catch {}`],
      [
        'a frame',
        'frame-src',
        `document.body.append(Object.assign(document.createElement('iframe'), { src: 'http://127.0.0.1:9/' }))`,
      ],
    ])('include the violation of the policy by %s', async (_what, directive, program) => {
      const { page, problems } = dashboard;
      await page.evaluate(`${program}; undefined`);
      await vi.waitFor(
        () => expect(problems).toContainEqual(expect.stringMatching(`^policy violated: ${directive}`)),
        PATIENCE,
      );
      problems.splice(0);
    });

    it('include an exception and an error of the console', async () => {
      const { page, problems } = dashboard;
      await page.evaluate(
        `setTimeout(() => { console.error('from the console'); throw new Error('from a script') }); undefined`,
      );
      const expected = [expect.stringContaining('from the console'), expect.stringContaining('from a script')];
      await vi.waitFor(() => expect(problems).toEqual(expect.arrayContaining(expected)), PATIENCE);
      problems.splice(0);
    });
  },
);
