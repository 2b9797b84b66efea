import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { skipFor } from '../support/skip.ts';
import { tempDir } from '../support/temp-dir.ts';
import { COMPLETION_SCRIPTS } from '../../src/cli/commands/completion.ts';

it('the bash script passes the words to halo and prints its answer', () => {
  const script = `
    halo() { printf 'first\\tits meaning\\nsecond\\t\\n'; }
    ${COMPLETION_SCRIPTS.bash}
    COMP_WORDS=(halo logs --story "US 1" "") COMP_CWORD=4
    _halo
    printf '<%s>' "\${COMPREPLY[@]}"
    complete -p halo`;
  const { stdout, status } = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
  expect(status).toBe(0);
  expect(stdout).toContain('<first><second>');
  expect(stdout).toContain('-F _halo halo');
});

const NO_FISH = spawnSync('fish', ['--version']).error === undefined ? undefined : 'fish is not installed';

describe('the fish script', skipFor(NO_FISH), () => {
  it.each([
    ['halo ', ['<>']],
    ['halo lo', ['<lo>']],
    ['halo logs --story US', ['<logs>', '<--story>', '<US>']],
    ['halo run --agent=c', ['<run>', '<--agent=c>']],
    ['halo logs -f ', ['<logs>', '<-f>', '<>']],
  ])('passes the words of %j to halo', (line, words) => {
    expect(completeInFish(line, 'for word in $argv[2..-1]; echo "x<$word>" >&2; end').stderr).toBe(
      words.map((word) => `x${word}\n`).join(''),
    );
  });

  it.each([
    [
      'what halo knows, without files',
      'printf "prod\\tits meaning\\nprice\\t\\n"',
      'halo pr',
      ['price', 'prod\tits meaning'],
    ],
    ['files, where halo knows nothing', 'true', 'halo run pr', ['prd.json', 'private/']],
  ])('offers %s', (_what, answer, line, expected) => {
    expect(completeInFish(line, answer).stdout.trim().split('\n')).toEqual(expected);
  });
});

/** Completes a line in a folder with a file and a folder, where halo answers with a script. */
function completeInFish(line: string, answer: string) {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'prd.json'), '');
  mkdirSync(join(cwd, 'private'));
  // The script discards errors of halo.
  const script = `function halo; ${answer}; end
    ${COMPLETION_SCRIPTS.fish.replaceAll('2>/dev/null', '')}
    complete -C '${line}'`;
  return spawnSync('fish', ['--no-config', '-c', script], { cwd, encoding: 'utf8' });
}
