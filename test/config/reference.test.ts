import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseConfigFile } from '../../src/config/load/config-file.ts';
import { CONFIG_KEYS, variableOf } from '../../src/config/keys.ts';
import { resolveConfig } from '../../src/config/resolve.ts';
import type { KeyTrust } from '../../src/config/trust/key-trust.ts';

const PAGE = new URL('../../docs/configuration.md', import.meta.url);
const DOCS = readFileSync(PAGE, 'utf8');

const TABLE = /(^\| `.*\n)+/m;

test('the docs list exactly the keys of the schema, with their types, defaults, rights and meanings', () => {
  // With HALO_TEST_RECORD, this test rewrites the table from the schema.
  if (process.env.HALO_TEST_RECORD !== undefined)
    writeFileSync(
      PAGE,
      DOCS.replace(TABLE, () => writeTable()),
    );
  else expect(TABLE.exec(DOCS)?.[0]).toBe(writeTable());
});

/** The rows of the table: one for all keys that differ only in their names. */
function writeTable(): string {
  const rows = new Map<string, string[]>();
  for (const { name, type, default: preset, trust, meaning } of CONFIG_KEYS.values()) {
    const rights = rightsOf(trust);
    const rest = `${type}${defaultOf(preset)} | ${rights === 'set' ? '' : `_${rights}_: `}${meaning}`;
    rows.set(rest, [...(rows.get(rest) ?? []), `\`${name}\``]);
  }
  return [...rows].map(([rest, names]) => `| ${names.join(', ')} | ${rest} |\n`).join('');
}

/** Of lists and tables, only those that are not empty. */
function defaultOf(value: unknown): string {
  const text = JSON.stringify(value);
  return value === undefined || text === '[]' || text === '{}' ? '' : `, \`${text}\``;
}

/** What the file of a repository and a request may do with a key. */
function rightsOf(trust: KeyTrust): string {
  switch (trust.rule) {
    case 'anyone':
      return 'set';
    case 'local':
      return 'set / -';
    case 'owner':
      return '-';
    case 'host-file':
      return 'home';
    case 'provider-key':
      return 'repeat / -';
    case 'tighten':
      return trust.local === true ? 'stricter / -' : 'stricter';
    case 'budget':
      return 'lower / -';
    case 'image':
      return 'listed';
    case 'join':
      return 'add';
    case 'right': {
      const { right, direction, repository } = trust;
      const words = { same: '', fewer: 'fewer, ', append: 'add, ', unproven: 'without gates, ' };
      const most = typeof direction === 'string' ? words[direction] : `${direction.join(', ')}, `;
      return repository ? `set / ${most}${right}` : `${most}${right}`;
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
