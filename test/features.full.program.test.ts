import { resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readSources } from './support/architecture.ts';
import { CopiedSources, featuresOf } from './support/features.ts';
import { tempDir } from './support/temp-dir.ts';

const root = resolve(import.meta.dirname, '..');
const sources = readSources(resolve(root, 'src'));
const features = featuresOf(sources);

/** Tests of pages and tables about all of halo, which name features, and of this. */
const OF_THE_WHOLE = [
  'api/access/access',
  'api/access/access-table',
  'api/http/openapi',
  'architecture',
  'chaos/hazards',
  'cli/docs',
  'config/effect',
  'config/reference',
  'config/repository-file',
  'contract/tables',
  'docs.program',
  'features.full.program',
  'mcp/tools',
  'prd/dialects/dialects',
  'prd/docs',
  'prd/fields',
  'prd/fuzz',
  'prd/parse',
  'prd/schemas',
  'security/git/continued-runs.program',
  'security/git/pipes.program',
  'security/network/issue-project.program',
  'security/input/service-names',
  'security/server/audience',
  'security/server/user-limits',
  'security/table',
].map((name) => `test/${name}.test.ts`);

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

  it('pass their unit tests without all features', { timeout: 3_600_000 }, () => {
    copy.without(features);
    expect(copy.runUnits(OF_THE_WHOLE)).toBe('');
  });
});
