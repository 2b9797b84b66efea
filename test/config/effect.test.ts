import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CONFIG_KEYS, placeOf } from '../../src/config/keys.ts';

/** Keys and tables that the code hands on before it reads them: `src/config` derives something, or a function gets them whole. */
const HANDED_ON = [
  ...['agents', 'breaker', 'budget', 'choice', 'engines', 'fleet', 'forge', 'issues.labels', 'issues.priority_labels'],
  ...['keep', 'land.feedback_rounds', 'land.stop_label', 'model.key_command', 'network.registry_hosts', 'notify'],
  ...['network.upstreams', 'prompt.test_standards', 'providers', 'retry', 'route', 'run.on_failure', 'sandbox.images'],
  ...['sandbox.service_images', 'server', 'services', 'traces'],
];

test('the code reads each key, as in `limits.cpus` or `{ cpus } = config.limits`', () => {
  const read = readMembers();
  const unread = [...CONFIG_KEYS.keys()].filter((key) => {
    const [leaf = '', table = 'config'] = placeOf(key).toReversed();
    return !read.has(`${table}.${leaf}`);
  });
  const isOf = (key: string, entry: string) => key === entry || key.startsWith(`${entry}.`);
  expect(unread.filter((key) => !HANDED_ON.some((entry) => isOf(key, entry)))).toEqual([]);
  expect(HANDED_ON.filter((entry) => !unread.some((key) => isOf(key, entry)))).toEqual([]);
});

/** Each `object.member` that the sources without `src/config` read. */
function readMembers(): Set<string> {
  const read = new Set<string>();
  const root = new URL('../../src/', import.meta.url);
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!/\.tsx?$/.test(name) || /^config\//.test(name)) continue;
    const text = readFileSync(new URL(name, root), 'utf8');
    for (const [, object, member] of text.matchAll(/(?<=\b(\w+)\??\.)(\w+)/g)) read.add(`${object}.${member}`);
    for (const [, members = '', from = ''] of text.matchAll(/\{([^{}]*)\} = ([\w.?! ]+)/g))
      for (const [member] of members.matchAll(/\w+/g))
        for (const [object] of from.matchAll(/\w+/g)) read.add(`${object}.${member}`);
  }
  return read;
}
