import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { CONFIG_KEYS, variableOf } from '../../src/config/keys.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import type { KeyTrust } from '../../src/config/trust/key-trust.ts';

const PAGE = new URL('../../docs/configuration.md', import.meta.url);
const DOCS = readFileSync(PAGE, 'utf8');

test('the docs list exactly the keys of the schema, with their types, defaults and meanings', () => {
  const section = DOCS.split(/^## /m).find((part) => part.startsWith('All keys')) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  const documented = rows.map((row) => {
    const [key = '', type = '', preset = '', file = '', request = '', meaning = ''] = row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    return {
      key: key.replaceAll('`', ''),
      type,
      default: preset.replaceAll('`', ''),
      rights: `${file} | ${request}`,
      meaning: meaning.replaceAll('`', ''),
    };
  });
  const expected = [...CONFIG_KEYS.values()].map(({ name, type, default: preset, trust, meaning }) => {
    return { key: name, type, default: toToml(preset), rights: rightsOf(trust), meaning: meaning.replaceAll('`', '') };
  });
  // With HALO_TEST_RECORD, this test rewrites the table from the schema.
  if (process.env.HALO_TEST_RECORD !== undefined) writeFileSync(PAGE, DOCS.replace(/(^\| `.*\n)+/m, writeTable()));
  else expect(documented).toEqual(expected);
});

function writeTable(): string {
  return [...CONFIG_KEYS.values()]
    .map(({ name, type, default: preset, trust, meaning }) => {
      const value = preset === undefined ? 'none' : `\`${toToml(preset)}\``;
      return `| \`${name}\` | ${type} | ${value} | ${rightsOf(trust)} | ${meaning} |\n`;
    })
    .join('');
}

/** What the file of a repository and a request may do with a key. */
function rightsOf(trust: KeyTrust): string {
  switch (trust.rule) {
    case 'anyone':
      return 'set | set';
    case 'local':
      return 'set | -';
    case 'owner':
    case 'host-file':
      return '- | -';
    case 'provider-key':
      return 'repeat | -';
    case 'tighten':
      return trust.local === true ? 'stricter | -' : 'stricter | stricter';
    case 'budget':
      return 'lower | -';
    case 'image':
      return 'listed | listed';
    case 'join':
      return 'add | add';
    case 'right': {
      const { right, direction, repository } = trust;
      const words = { same: '', fewer: 'fewer, ', append: 'add, ', unproven: 'without gates, ' };
      const most = typeof direction === 'string' ? words[direction] : `${direction.join(', ')}, `;
      return `${repository ? 'set' : `${most}${right}`} | ${most}${right}`;
    }
  }
}

test('the examples in the docs are valid', () => {
  const examples = [...DOCS.matchAll(/^```toml\n(.*?)^```/gms)].map(([, text]) => text ?? '');
  expect(examples.length).toBeGreaterThan(0);
  for (const text of examples) {
    const { config } = resolveConfig({
      repo: parseConfigFile('/repo/halo.toml', text),
      profile: text.includes('[profiles.offline') ? 'offline' : undefined,
      cwd: '/',
    });
    expect(config.gates).not.toHaveLength(0);
  }
});

test('no two keys share a variable', () => {
  const variables = [...CONFIG_KEYS.keys()].map(variableOf);
  expect(new Set(variables).size).toBe(variables.length);
});

/** JSON strings, numbers and empty lists and tables are TOML too. */
function toToml(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value);
}
