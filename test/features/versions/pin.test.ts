import { describe, expect, it } from 'vitest';
import { withPin } from '../../../src/features/versions/core/pin.ts';

describe('the pin of a version in config.toml', () => {
  it.each([
    ['of an empty file', '', '1.2.3', '[agents.codex]\nversion = "1.2.3"\n'],
    [
      'after other tables',
      'agent = "codex"\n\n[model]\nname = "x"\n',
      '1.2.3',
      'agent = "codex"\n\n[model]\nname = "x"\n\n[agents.codex]\nversion = "1.2.3"\n',
    ],
    [
      'in its table',
      '[agents.codex] # mine\nsubagents = true\n',
      '1.2.3',
      '[agents.codex] # mine\nversion = "1.2.3"\nsubagents = true\n',
    ],
    [
      'in place of another',
      '[agents.codex]\nversion = "1.0.0" # old\n\n[model]\nversion = 1\n',
      '1.2.3',
      '[agents.codex]\nversion = "1.2.3"\n\n[model]\nversion = 1\n',
    ],
    [
      'and not in tables below it',
      '[agents.codex.config]\nversion = 1\n',
      '1.2.3',
      '[agents.codex.config]\nversion = 1\n\n[agents.codex]\nversion = "1.2.3"\n',
    ],
    [
      'which is removed',
      '[agents.codex]\nversion = "1.0.0"\nsubagents = true\n',
      undefined,
      '[agents.codex]\nsubagents = true\n',
    ],
    ['which is removed with its empty table', 'a = 1\n[agents.codex]\nversion = "1.0.0"\n', undefined, 'a = 1\n'],
    ['which is not there', 'a = 1\n', undefined, 'a = 1\n'],
  ])('%s', (_where, before, version, after) => {
    expect(withPin(before, 'codex', version)).toBe(after);
  });
});
