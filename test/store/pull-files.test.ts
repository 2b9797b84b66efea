import { expect, test } from 'vitest';
import { PullFiles } from '../../src/store/forge-files.ts';
import { tempDir } from '../support/temp-dir.ts';

const RUN = '0tbq4m8k2dhe7w1';

test('a note about a run that is added while earlier ones are sent stays, also when their removal is slow', async () => {
  const files = new PullFiles(tempDir('halo-pulls'));
  await files.note(RUN, 7);
  await files.note(RUN, 7);
  const sent = await files.notes(RUN);
  await files.write(RUN, { failure: { why: 'the forge did not answer', retryAt: '2030-01-01T00:00:00.000Z' } });
  await files.note(RUN, 12);
  await files.done(RUN, sent);
  expect([sent, await files.notes(RUN), await files.runIds(), await files.read(RUN)]).toEqual([[7], [12], [RUN], {}]);
  await files.remove(RUN);
  expect(await files.runIds()).toEqual([]);
});
