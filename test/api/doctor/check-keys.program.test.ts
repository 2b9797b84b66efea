import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkKeys } from '../../../src/api/doctor/checks.ts';
import { readConfig } from '../../../src/api/repository/repo-config.ts';
import { hostOf } from '../../support/halo/host.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { tempDir } from '../../support/temp-dir.ts';

async function keysOf(home: string, env: Record<string, string>, folder = home) {
  const { config } = await readConfig({ host: hostOf(home), folder, profile: undefined, set: [] });
  return checkKeys(config, env);
}

describe('the keys of a model', () => {
  it('is the variable of the provider by default', async () => {
    const home = tempDir('halo-doctor');
    expect(await keysOf(home, { OPENAI_API_KEY: 'sk-1' })).toEqual([
      { name: 'model key', ok: 'ok', says: 'OPENAI_API_KEY is set' },
    ]);
    expect(await keysOf(home, {})).toMatchObject([{ ok: 'warn', says: 'OPENAI_API_KEY is not set' }]);
  });

  it('are those of the agent that the repository has chosen', async () => {
    const { root } = newRepository({ 'halo.toml': 'agent = "claude"\n' });
    const home = tempDir('halo-doctor');
    expect(await keysOf(home, { OPENAI_API_KEY: 'sk-1' }, root)).toMatchObject([
      { ok: 'warn', says: 'ANTHROPIC_API_KEY is not set' },
    ]);
  });

  it('are each checked where they come from, and no command is run', async () => {
    const home = tempDir('halo-doctor');
    const [there, gone, mark] = ['there', 'gone', 'mark'].map((name) => join(home, name));
    writeFileSync(there!, 'sk-2');
    const sources = [`key_file = "${there}"`, `key_file = "${gone}"`, `key_command = "touch ${mark}"`];
    const tables = sources.map((source) => `[[model.keys]]\n${source}`);
    writeFileSync(join(home, 'config.toml'), ['[model]\nkey_env = "FIRST"', ...tables].join('\n'));
    expect(await keysOf(home, {})).toMatchObject([
      { name: 'model key 1', ok: 'warn', says: 'FIRST is not set' },
      { name: 'model key 2', ok: 'ok', says: `${there} is readable` },
      { name: 'model key 3', ok: 'warn', says: `${gone} cannot be read` },
      { name: 'model key 4', ok: 'ok', says: 'a command prints it; it was not run' },
    ]);
  });

  it('are also those of agents that routes and fallback name, once for each provider', async () => {
    const home = tempDir('halo-doctor');
    const route = '[[route]]\nattempt = 2\nagent = "opencode"\n\n[[route]]\nlabel = "ui"\nagent = "gemini"\n';
    const { root } = newRepository({ 'halo.toml': `fallback = ["claude"]\n${route}` });
    const found = await keysOf(home, { OPENAI_API_KEY: 'sk-1', GEMINI_API_KEY: 'g' }, root);
    expect(found.map(({ name, says }) => `${name}: ${says}`)).toEqual([
      'model key: OPENAI_API_KEY is set',
      'model key of opencode: ANTHROPIC_API_KEY is not set',
      'model key of gemini: GEMINI_API_KEY is set',
    ]);
  });
});
