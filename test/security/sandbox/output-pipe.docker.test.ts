import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import { newRepository } from '../../support/repository/new-repository.ts';

/** Each line of the file is a trial that had an effect. */
const AGENT = `
cd /workspace
try() { timeout 5 sh -c "$2" < /dev/null > /dev/null 2>&1 && echo "$1" >> effects; }
touch effects
try read 'head -c 1 /halo/output'
try remove 'rm -f /halo/output'
try rename 'mv /halo/output /halo/other'
try replace 'ln -sf /etc/passwd /halo/output'
try mode 'chmod 666 /halo/output'
test -p /halo/output && echo pipe >> effects
(setsid sh -c 'exec 5> /halo/output; sleep 300') > /dev/null 2>&1 &
echo not an answer > /halo/output
`;

describe('incident output-pipe: the pipe of an agent’s output', () => {
  let halo: TestHalo;
  beforeAll(async () => {
    halo = await openHalo();
  });
  afterAll(() => halo.close());

  it('can be written by its sandbox, but not read, replaced, or held open after the end', async () => {
    const repository = newRepository({});
    const state = await halo.run(repository.root, [{ id: 'US-1' }], scripted(`${AGENT}${OK}`, ['true']));
    expect(state).toMatchObject({ stopReason: 'SUCCESS' });
    expect(repository.git('show', `halo/${state.runId}:effects`)).toBe('pipe');
  });
});
