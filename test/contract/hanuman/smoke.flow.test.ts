import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { skipFor } from '../../support/skip.ts';
import { belowFull } from '../../support/suite/level.ts';
import { openWorld, read, recordOf, settings, TWO, writePrd } from '../../support/contracts/hanuman.ts';
import { OK, scripted } from '../../support/halo/halo.ts';

const world = openWorld();
const halo = resolve(import.meta.dirname, '../../../bin/halo');

/** What the smoke run of hanuman-dev does, with halo in its place: a shell script in a repository without any settings. */
const SMOKE = `
set -eu
RUN_DIR="$("$HALO" run --prd "$PRD_PATH")"
[ -d "$RUN_DIR" ]
[ -f "$RUN_DIR/run.json" ]
[ -s "$RUN_DIR/events.jsonl" ]
[ -f "$RUN_DIR/checkpoints/state.json" ]
[ -d "$RUN_DIR/artifacts" ]
[ -d "$RUN_DIR/debug_bundle" ]
echo "$RUN_DIR"
`;

it('is a shell script: the agent changes nothing, nothing checks it, and the run succeeds with all parts', async () => {
  const repository = world.aRepository();
  const prd = writePrd(repository, [{ id: 'S1', title: 'Story 1', size: 'S', acceptance: ['ok'] }]);
  const variables = { HALO_AGENT: 'command', HALO_AGENTS_COMMAND_RUN: OK };
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', SMOKE], {
    cwd: repository.root,
    env: { ...process.env, ...variables, HALO: halo, HALO_HOME: world.home.dir, PRD_PATH: prd },
  });
  const progress = { completed: ['S1'] };
  expect(recordOf(stdout.trim())).toMatchObject({ stopReason: 'SUCCESS', exitStatus: 0, progress });
  expect(stderr).toContain('stories count as done when the agent reports success, even if it changed no file');
  expect(repository.git('rev-list', '--count', '--all')).toBe('1');
});

it('completes a story that is already fulfilled, and one whose answer has further keys', async () => {
  const repository = world.aRepository();
  const prd = writePrd(repository, TWO);
  const answer = `echo '{"status":"ok","summary":"Did it.","filesChanged":[],"testsRun":["npm test"],"notes":""}'`;
  const script = `case $(cat) in *"S-2: Title"*) echo x > x;; esac; ${answer}`;
  const end = await world.run(repository, ['--prd', prd, ...settings(script)]);
  expect(end.code, end.stderr).toBe(0);
  expect(recordOf(end.stdout.trim()).progress.completed).toEqual(['S-1', 'S-2']);
});

it('leaves a debug bundle for a run that waits for a person', async () => {
  const repository = world.aRepository();
  const prd = writePrd(repository, TWO);
  const script = `echo '{"status":"needs_human","summary":"Which color?"}'`;
  const end = await world.run(repository, ['--prd', prd, ...settings(script)]);
  expect(end).toMatchObject({ code: 4 });
  expect(read(end.stdout.trim(), 'debug_bundle/summary.md')).toContain('Which color?');
  expect(recordOf(end.stdout.trim(), 'debug_bundle')).toMatchObject({ stopReason: 'NEEDS_HUMAN' });
});

it('runs in another repository with --repo, and without uncommitted changes with --allow-dirty', async () => {
  const repository = world.aRepository();
  const prd = writePrd(repository, TWO.slice(0, 1));
  writeFileSync(join(repository.root, 'README.md'), 'changed\n');
  const words = ['run', '--prd', prd, '--repo', repository.root, '--allow-dirty'];
  const more = scripted(`cp README.md seen; ${OK}`).flatMap((pair) => ['-c', pair]);
  const end = await world.call([...words, ...more], dirname(prd));
  expect(end.code, end.stderr).toBe(0);
  expect(recordOf(end.stdout.trim()).repo.path).toBe(repository.root);
  const [branch] = repository.git('branch', '--list', '--format=%(refname:short)', 'halo/*').split('\n');
  expect(repository.git('show', `${branch}:seen`)).toBe('A test.');
  expect(readFileSync(join(repository.root, 'README.md'), 'utf8')).toBe('changed\n');
});

// The rule is in test/worker/attempt/landing.test.ts.
describe('other settings', skipFor(belowFull()), () => {
  it('fails a story without a change and without gates if the user has said so', async () => {
    const repository = world.aRepository();
    const prd = writePrd(repository, TWO.slice(0, 1));
    const flags = scripted(OK, [], ['land.unchanged="fail"', 'retry.attempts=1']).flatMap((pair) => ['-c', pair]);
    const end = await world.run(repository, ['--prd', prd, ...flags]);
    expect(recordOf(end.stdout.trim())).toMatchObject({ stopReason: 'INVALID_OUTPUT', progress: { completed: [] } });
    expect(end.stderr).not.toContain('even if it changed no file');
  });
});
