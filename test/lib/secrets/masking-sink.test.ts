import { finished } from 'node:stream/promises';
import { expect, test } from 'vitest';
import { maskingSink, openMasker } from '../../../src/lib/secrets/masker.ts';
import { tailSink } from '../../../src/lib/streams.ts';

test.each([
  ['a short secret', 'hunter2hunter'],
  ['a long secret', 'abcdefghij0123456789'],
])('a masking sink masks %s in one chunk, wrapped at any place', async (_what, secret) => {
  for (let at = 1; at < secret.length; at++) {
    const masker = openMasker();
    masker.learn([secret]);
    const kept = tailSink(1_000);
    const sink = maskingSink(masker, kept.sink);
    sink.end(`${secret.slice(0, at)}\n${secret.slice(at)}\nend\n`);
    await finished(sink);
    expect(kept.text()).toBe(`${'*'.repeat(at)}\n${'*'.repeat(secret.length - at)}\nend\n`);
  }
});
