import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verify, type Verified } from '../../../src/features/evidence/api/verify-commit.ts';
import { parseProof } from '../../../src/core/review/proof.ts';
import type { RunState } from '../../../src/core/run/state.ts';
import { openHalo, OK, scripted, type TestHalo } from '../../support/halo/halo.ts';
import type { TestRepository } from '../../support/repository/repository.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { newRepository } from '../../support/repository/new-repository.ts';
import { skipFor } from '../../support/skip.ts';
import { belowFull, casesAtLevel } from '../../support/suite/level.ts';

let halo: TestHalo;
let repository: TestRepository;
let keys: string;
let state: RunState;

beforeAll(async () => {
  halo = await openHalo();
  repository = newRepository();
  keys = tempDir('halo-keys');
  const key = join(keys, 'id');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'halo', '-f', key]);
  const settings = ['setup=["true"]', 'git.sign=ssh', `git.signing_key=${key}`, 'env.WORD=x'];
  const gates = ['test "$WORD" = x && test -s file', 'test ! -e file || echo fine'];
  state = await halo.run(
    repository.root,
    [{ id: 'A' }, { id: 'B' }],
    scripted(`date +%N > file; ${OK}`, gates, settings),
  );
  expect(state).toMatchObject({ stopReason: 'SUCCESS' });
});
afterAll(async () => {
  await halo.close();
});

async function verified(target: string, { host = halo.host, trustProof = false } = {}): Promise<Verified[]> {
  const results: Verified[] = [];
  const query = { target, folder: repository.root, trustProof, signal: new AbortController().signal };
  for await (const each of verify(host, query)) results.push(each);
  return results;
}

function failures(results: Verified[]): string[] {
  return results.flatMap(({ checks }) =>
    checks.filter(({ ok }) => ok === false).map(({ what, found }) => `${what}: ${found}`),
  );
}

describe('a landed commit', () => {
  it('has a proof as a note and in the run directory, and both are signed by git', () => {
    const [, { commit, key } = { commit: '', key: '' }] = state.stories;
    const note = repository.git('notes', '--ref=halo', 'show', commit!);
    expect(note).toBe(halo.readFile(state.runId, `artifacts/${key}/1/proof.json`).trim());
    const log = halo.readFile(state.runId, `artifacts/${key}/1/gates/2.log`);
    expect(log).toBe('fine\n');
    expect(parseProof(note)).toMatchObject({
      commit,
      base: state.stories[0]!.commit,
      tree: repository.git('rev-parse', `${commit}^{tree}`),
      run: state.runId,
      story: { id: 'B', title: 'Story B', attempt: 1 },
      image: { name: 'halo-sandbox', id: expect.stringMatching(/^sha256:/) as string },
      agent: { name: 'command' },
      setup: ['true'],
      env: { WORD: 'x' },
      gates: [
        { exitCode: 0, sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' },
        { exitCode: 0 },
      ],
    });
    const allowed = join(keys, 'allowed');
    writeFileSync(allowed, `halo ${execFileSync('cat', [join(keys, 'id.pub')], { encoding: 'utf8' })}`);
    for (const object of [commit!, 'refs/notes/halo']) {
      repository.git('-c', `gpg.ssh.allowedSignersFile=${allowed}`, 'verify-commit', object);
    }
  });

  it('is verified again by halo verify, as a run and as a commit', async () => {
    const byRun = await verified(state.runId.slice(0, 12));
    expect(byRun.map(({ story }) => story)).toEqual(['A', 'B']);
    expect(failures(byRun)).toEqual([]);
    expect(byRun[0]!.checks.map(({ what }) => what.split(' ')[0])).toEqual([
      ...['proof', 'signature', 'signature', 'commit', 'base', 'tree', 'settings', 'setup', 'gate', 'gate'],
    ]);
    expect(byRun[0]!.remarks).toEqual([]);
    // The run's directory confirms it here; elsewhere nothing says where its gates come from.
    const host = { ...halo.host, home: keys };
    const elsewhere = await verified(`halo/${state.runId}~1`, { host });
    expect(failures(elsewhere)).toEqual([
      ...[
        'setup 1: halo.toml: none',
        'gate 1: halo.toml: none',
        'gate 2: halo.toml: none',
        'env WORD: halo.toml: none',
      ],
    ]);
    const [trusted] = await verified(`halo/${state.runId}~1`, { host, trustProof: true });
    expect(failures([trusted!])).toEqual([]);
    expect(trusted!.remarks).toEqual([
      'the proof is signed; the signer is not checked',
      'settings that differ (4) are taken from the proof',
    ]);
  });

  it('is verified as a commit in the same way where its run is', skipFor(belowFull()), async () => {
    const [first] = await verified(state.runId);
    expect(await verified(`halo/${state.runId}~1`)).toEqual([first]);
  });

  it('does not pass verification when proof and commit do not belong together', async () => {
    const [a, b] = state.stories.map(({ commit }) => commit!);
    const record = repository.git('notes', '--ref=halo', 'show', a!);
    const note = (text: string, on: string) =>
      repository.git('-c', 'user.name=e', '-c', 'user.email=e@e', 'notes', '--ref=halo', 'add', '-f', '-m', text, on);
    note(record, b!);
    for (const target of casesAtLevel([b!], [state.runId]))
      expect(failures(await verified(target))).toEqual(['proof: differs']);
    const elsewhere = { host: { ...halo.host, home: keys }, trustProof: true };
    expect(failures(await verified(b!, elsewhere)).map((line) => line.split(':')[0])).toEqual([
      'commit',
      'base',
      'tree',
    ]);
    note(record.replace(/test -s file/, 'exit 4'), a!);
    expect(failures(await verified(a!, elsewhere))).toEqual(['gate test "$WORD" = x && exit 4: exit 4']);
    expect(failures(await verified(a!))).toEqual(['proof: differs', 'signature of proof: unsigned']);
    expect(failures(await verified('main'))).toEqual(['proof: none']);
    await expect(verified('nothing')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });
});

it('a note that cannot be written does not undo the landing, and the run reports it', async () => {
  const other = newRepository();
  // Nothing can be made below a file.
  writeFileSync(join(other.root, '.git/refs/notes'), '');
  const ended = await halo.run(other.root, [{ id: 'A' }], scripted(`date +%N > file; ${OK}`));
  expect(ended).toMatchObject({ stopReason: 'SUCCESS', stories: [{ progress: 'passed' }] });
  expect(halo.readFile(ended.runId, 'agent.log')).toContain('warning: no note on');
});
