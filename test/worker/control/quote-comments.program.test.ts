import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { quoteReview } from '../../../src/worker/control/give-feedback.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

describe('a comment of a review', () => {
  const { root, git } = newRepository();
  const base = git('rev-parse', 'HEAD');
  const comment = { path: 'a.ts', line: 1, text: 'Why?' };

  it('keeps its text if git cannot read its lines, and the reason is reported', async () => {
    const faults: unknown[] = [];
    const at = { gitDir: join(root, '.git'), commit: 'f'.repeat(40), base };
    const quoted = await quoteReview([comment], at, (error) => faults.push(error));
    expect(quoted).toEqual([{ path: 'a.ts', side: 'new', line: 1, text: 'Why?' }]);
    expect(faults).toMatchObject([{ code: 'GIT_FAILED' }]);
  });

  it('keeps its text, without a fault, if the file is not in the commit', async () => {
    const faults: unknown[] = [];
    const at = { gitDir: join(root, '.git'), commit: base, base };
    const quoted = await quoteReview([comment], at, (error) => faults.push(error));
    expect(quoted).toMatchObject([{ text: 'Why?' }]);
    expect(faults).toEqual([]);
  });
});
