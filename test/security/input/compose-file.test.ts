import { describe, expect, test } from 'vitest';
import { readCompose } from '../../../src/features/services/config/compose/read-compose.ts';

const says = (text: string) => readCompose(text).problems[0]?.says;

describe('incident compose-file: a compose file', () => {
  test('costs no more to read than one that people write', () => {
    const names = Array.from({ length: 40 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`);
    expect(says(`a0: &a0 [x, x]\n${names.join('\n')}\n`)).toMatch(
      /more than 5000 values, with what its aliases stand for$/,
    );
    expect(says('a: &a [*a]\n')).toMatch(/more than 24 levels$/);
    expect(says('['.repeat(30_000))).toMatch(/more than 24 levels$/);
    expect(says('- '.repeat(16_000))).toMatch(/more than 24 levels$/);
    expect(says('x'.repeat(70_000))).toMatch(/more than 32 KiB$/);
    expect(says('- 1\n'.repeat(6000))).toMatch(/more than 5000 values/);
  });

  test.each([
    'privileged: true',
    'devices: [/dev/mem]',
    'network_mode: host',
    'pid: host',
    'ipc: host',
    'userns_mode: host',
    'runtime: other',
    'env_file: /root/.env',
    'extends: { file: /etc/compose.yaml, service: db }',
    'volumes_from: [other]',
    'environment: { KEY: "$OPENAI_API_KEY" }',
    'environment: { KEY: "${HOME:?}" }',
  ])('gets nothing of the machine with %s', (line) => {
    expect(says(`services:\n  db:\n    image: postgres\n    ${line}\n`)).toMatch(/^services\.db\./);
  });

  test('names what it wants to mount, and does not get it', () => {
    const { notes, services } = readCompose(
      'services:\n  db: { image: x, volumes: ["/:/host", "~/.ssh:/ssh", "data:/var/lib/x"] }\n',
    );
    expect(notes.map((note) => note.says)).toEqual([
      'services.db.volumes: "/" is not mounted: a service sees no files of this machine',
      'services.db.volumes: "~/.ssh" is not mounted: a service sees no files of this machine',
    ]);
    expect(services).toMatchObject([{ volumes: ['/var/lib/x'] }]);
  });
});
