import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readSources } from './support/architecture.ts';
import { CopiedSources, featuresOf } from './support/features.ts';
import { tempDir } from './support/temp-dir.ts';

const root = resolve(import.meta.dirname, '..');
const sources = readSources(resolve(root, 'src'));
const features = featuresOf(sources);

describe('the sources', () => {
  let copy: CopiedSources;
  beforeAll(() => {
    copy = new CopiedSources(root, tempDir('halo-sources'), sources);
  });

  it.each([['nothing', []], ...features.map((name) => [name, [name]] as const), ['all features', features]] as const)(
    'compile without %s',
    (_, missing) => {
      copy.without(missing);
      expect(copy.compile()).toBe('');
    },
  );
});
