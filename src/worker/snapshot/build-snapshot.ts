import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { HaloError } from '../../core/failure/errors.ts';
import type { RefusedSnapshot, Snapshot } from '../../core/snapshot/snapshot.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { failpoint } from '../../lib/failpoint.ts';
import { tryParseJson } from '../../lib/parse-json.ts';
import { defined } from '../../lib/guards.ts';
import { shellQuote } from '../../lib/text.ts';
import { discardSink, tailSink } from '../../lib/streams.ts';
import { DOCKER_DIR } from '../../sandbox/docker/image/image-recipe.ts';
import { SNAPSHOT_GROUP } from '../../sandbox/sandbox.ts';
import type { SandboxContext } from '../attempt/open-attempt.ts';
import { recordSetup } from '../attempt/phases/run-setup.ts';
import type { Checkout } from '../workspace/checkout-script.ts';
import { runInHelper, startHelper, type HelperSpec } from '../workspace/helper-sandbox.ts';
import { openRestorer } from '../workspace/restore-tree.ts';
import { runCommands, setupCommands } from '../workspace/run-commands.ts';
import { WORKSPACE } from '../workspace/sandbox-paths.ts';
import { planSetup } from '../workspace/step-plan.ts';
import { Workspace } from '../workspace/workspace.ts';
import type { SnapshotKey } from './snapshot-key.ts';

const PROGRAM = 'seal-snapshot.mjs';
const PROGRAM_FILES = [PROGRAM, 'restore-files.mjs'];
const MAX_ANSWER = 100_000;

/** Where setup runs, and under which names its results are kept. */
export interface BuildRequest extends SnapshotKey {
  checkout: Checkout;
  phase: 'setup' | 'gates';
  /** The folder of the logs among the artifacts. */
  folder: string;
  /** A shorter setup is refused, in ms. */
  minSetupMs: number;
}

/**
 * Runs setup in a clean workspace of its own, which becomes the volume of a snapshot. The caller publishes or removes the
 * volume. Ends the attempt if a setup command does not exit 0.
 */
export async function buildSnapshot(
  attempt: SandboxContext,
  request: BuildRequest,
): Promise<Snapshot | RefusedSnapshot> {
  const { config, worker, identity, resources } = attempt;
  const { key, settingsKey, inputs, checkout, phase, folder, minSetupMs } = request;
  const started = performance.now();
  const volume = `halo-snapshot-${key.slice(0, 24)}-${randomBytes(6).toString('hex')}`;
  const isPublished = { yes: false };
  const announced = await worker.snapshots.announce(resources.mirror, volume);
  resources.onClose(async () => {
    if (!isPublished.yes) await worker.engine.removeVolume(volume);
    await announced.release();
  });
  const create = () =>
    worker.engine.createKeptVolume(volume, {
      kind: 'snapshot',
      home: worker.homeId,
      user: resources.user,
      ...resources.quota,
    });
  const workspace = new Workspace(attempt, phase === 'setup' ? 'setup' : 'gates-setup', planSetup(attempt), {
    disk: { volume, create },
  });
  await workspace.checkOut(checkout.commit, checkout.gitDir, checkout.sources);
  const restorer = openRestorer(attempt, volume, checkout);
  const openLog = ({ name }: { name: string }) => worker.store.openArtifact(identity.location, `${folder}/${name}`);
  await failpoint('snapshot.setup');
  const begun = performance.now();
  for await (const ended of runCommands(attempt, workspace, { commands: setupCommands(config), phase, openLog }))
    await recordSetup(attempt, ended, { phase, log: `${folder}/${ended.name}` });
  const { name, id } = await worker.engineFacts();
  const engine = { name, id };
  const facts = {
    v: 1 as const,
    engine,
    key,
    setup: [...config.setup],
    commit: checkout.commit,
    run: identity.runId,
    createdAt: new Date(worker.now()).toISOString(),
  };
  const spent = performance.now() - begun;
  if (spent < minSetupMs) {
    const why = Array.isArray(inputs) ? '' : `, and ${inputs.why}`;
    // The next commit has another tree, for which setup would be tried again.
    return { ...facts, key: settingsKey, refused: `setup takes only ${(spent / 1_000).toFixed(1)} s${why}` };
  }
  const restored = await restorer.restore();
  await restorer.remove();
  const touched = [...(restored?.changed ?? []), ...(restored?.removed ?? [])].filter((path) => !/^\.git\//.test(path));
  if (touched.length > 0 || (restored?.more ?? 0) > 0) {
    const names =
      touched
        .slice(0, 3)
        .map((path) => safeLine(path, 80))
        .join(', ') || 'files of the repository';
    return { ...facts, refused: `setup changes files that git does not ignore: ${names}` };
  }
  const sealed = await sealVolume(attempt, volume, checkout.commit);
  if ('error' in sealed) return { ...facts, refused: safeLine(sealed.error) };
  isPublished.yes = true;
  const ms = Math.round(performance.now() - started);
  return { ...facts, ...sealed, volume, ms, image: config.image, inputs };
}

const Sealed = z.object({ digest: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.number(), files: z.number() });
const Answer = z.union([z.object({ error: z.string() }), z.object({ fault: z.string() }), Sealed]);

/** Removes from a workspace what the commit has, and prepares the rest for other users. Throws DOCKER_FAILED. */
async function sealVolume(
  attempt: SandboxContext,
  volume: string,
  commit: string,
): Promise<z.infer<typeof Sealed> | { error: string }> {
  const words = [WORKSPACE, commit, String(SNAPSHOT_GROUP)];
  const answer = await runSeal(attempt, { volume, readOnly: false, repositories: true }, words);
  if (!('fault' in answer)) return answer;
  attempt.signal.throwIfAborted();
  throw new HaloError(
    'DOCKER_FAILED',
    `What setup installed could not be made a snapshot: ${safeLine(answer.fault)}.`,
    {
      hint: 'Check whether the engine’s disk is full or its machine is overloaded, or set snapshot.mode = "off".',
    },
  );
}

/**
 * Whether the volume of a snapshot still has the files that it was made with. Undefined if that cannot be found out now.
 * Throws DOCKER_FAILED.
 */
export async function isVolumeIntact(
  attempt: SandboxContext,
  { volume, digest, service }: Pick<Snapshot, 'volume' | 'digest' | 'service'>,
): Promise<boolean | undefined> {
  const place = { volume, readOnly: true, repositories: false, ...defined({ user: service?.user }) };
  const answer = await runSeal(attempt, place, [WORKSPACE]);
  if ('fault' in answer) return undefined;
  return 'digest' in answer && answer.digest === digest;
}

/**
 * Completes the volume with the data of a service that has ended: without sockets, and on the disk. Throws DOCKER_FAILED,
 * and what ends an attempt.
 */
export async function sealData(
  attempt: SandboxContext,
  { volume, user }: { volume: string; user: number },
): Promise<z.infer<typeof Sealed>> {
  const complete = `find ${WORKSPACE} '(' -type s -o -type p ')' -delete && sync -f ${WORKSPACE}`;
  const place = { volume, readOnly: false, repositories: false, user };
  const answer = await runSeal(attempt, place, [WORKSPACE], complete);
  attempt.signal.throwIfAborted();
  if ('digest' in answer) return answer;
  const why = safeLine('error' in answer ? answer.error : answer.fault);
  throw new HaloError('DOCKER_FAILED', `The data of a service could not be made a snapshot: ${why}.`, {
    hint: 'Check whether the engine’s disk is full or its machine is overloaded, or set snapshot.mode = "off".',
  });
}

async function runSeal(
  attempt: SandboxContext,
  place: Pick<HelperSpec, 'volume' | 'readOnly' | 'repositories' | 'user'>,
  words: readonly string[],
  before = ':',
): Promise<z.infer<typeof Answer>> {
  const helper = { phase: 'seal', ...place, workdir: '/tmp' };
  const [sandbox, ...programs] = await Promise.all([
    startHelper(attempt, helper),
    ...PROGRAM_FILES.map((name) => readFile(join(DOCKER_DIR, name), 'utf8')),
  ]);
  await failpoint('snapshot.seal');
  const stdout = tailSink(MAX_ANSWER);
  const files = programs.map((text, index) => `printf %s ${shellQuote(text)} > /tmp/${PROGRAM_FILES[index]}`);
  await runInHelper(attempt, sandbox, {
    script: [...files, `{ ${before}; } || exit 1`, `exec node /tmp/${PROGRAM} ${words.map(shellQuote).join(' ')}`].join(
      '\n',
    ),
    stdout: stdout.sink,
    stderr: discardSink(),
    outputBytes: 10 * MAX_ANSWER,
  });
  await sandbox.remove();
  const { data } = Answer.safeParse(tryParseJson(stdout.text().trim().split('\n').at(-1) ?? ''));
  return data ?? { fault: 'the program printed no answer' };
}
