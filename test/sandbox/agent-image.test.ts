import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PROGRAM_IDS } from '../../src/core/agent-program.ts';
import { PROGRAM_PACKAGES } from '../../src/sandbox/docker/image/agent-image.ts';

const read = (file: string) => readFileSync(new URL(`../../docker/sandbox/${file}`, import.meta.url), 'utf8');
const { npm } = JSON.parse(read('packages.json')) as { npm: Record<string, { file: string; spec: string }[]> };

test.each(PROGRAM_IDS)('a further version of %s has the packages and the files of halo’s image', (id) => {
  for (const [processor, packages] of Object.entries(npm)) {
    const spec = packages.find(({ file }) => file === `${id}.tgz`)?.spec ?? '';
    const version = /@(\d+\.\d+\.\d+)/.exec(spec)?.[1] ?? '';
    expect(PROGRAM_PACKAGES[id].spec(version, processor)).toBe(spec);
  }
  for (const [from] of PROGRAM_PACKAGES[id].copies)
    expect(read('Dockerfile')).toContain(`COPY --from=packages /${id}/package/${from} /opt/halo/agents/${id}/`);
});
