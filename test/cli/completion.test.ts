import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
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
