import { randomInt } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { Prd } from '../core/prd.ts';
import type { Proof } from '../core/proof.ts';
import type { RunState } from '../core/run-state.ts';
import { storyKey } from '../core/story-key.ts';
import { gitText } from '../git/git.ts';
import { parentOf } from '../git/hold.ts';
import { updateMirror } from '../git/mirror.ts';
import { mirrorName } from '../git/source.ts';
import { discard } from '../lib/sinks.ts';
import { openAttempt, type Attempt } from './attempt-context.ts';
import { check, requireImage, unheard, type Check } from './check.ts';
import { MIRROR } from './places.ts';
import { planSteps } from './plan-steps.ts';
import { runStep } from './run-step.ts';
import type { WorkerContext } from './worker-context.ts';
import { openWorkspace } from './workspace.ts';

export interface VerifyRequest {
  proof: Proof;
  commit: string;
  /** The repository that has the commit. */
  gitDir: string;
  /** Limits and the like; what the proof names comes from the proof. */
  config: Config;
  signal: AbortSignal;
}

/**
 * Holds a landed commit against its record: the commit itself, and its gates once more, in a clean container of the
 * recorded image on exactly that tree. Throws IMAGE_MISSING when that image is not here.
 */
export async function verifyProof(worker: WorkerContext, request: VerifyRequest): Promise<Check[]> {
  const { proof, commit, gitDir, config } = request;
  const [tree, parent] = await Promise.all([
    gitText(['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`], { gitDir }),
    parentOf(gitDir, commit),
  ]);
  const facts = [
    check('commit', proof.commit, commit),
    check('base', proof.base, parent),
    check('tree', proof.tree, tree),
  ];
  await requireImage(worker, proof.image.id, { whose: commit.slice(0, 12), called: proof.image.name });
  const again: Config = {
    ...config,
    agent: 'command',
    agentCommand: 'true',
    image: proof.image.id,
    env: proof.env,
    setup: proof.setup,
    gates: proof.gates.map(({ command }) => command),
    tests: { ...config.tests, reports: proof.reports ?? [] },
    network: { ...config.network, allow: proof.allow, registries: proof.registries ?? [] },
  };
  const attempt = await openProof(worker, { ...request, config: again });
  try {
    return [...facts, ...(await proveAgain(attempt, request))];
  } finally {
    await attempt.close();
  }
}

async function proveAgain(attempt: Attempt, { proof, commit }: VerifyRequest): Promise<Check[]> {
  const clean = openWorkspace(attempt, 'clean', planSteps(attempt).cleanSteps);
  await clean.checkOut(commit, attempt.mirrorDir, [MIRROR]);
  const checks: Check[] = [];
  for (const command of proof.setup) {
    const { exit } = await runStep(attempt, await clean.take(), { command, log: discard() });
    checks.push(check(`setup ${command}`, 'exit 0', exitWord(exit.exitCode)));
    if (exit.exitCode !== 0) return checks;
  }
  for (const { command, exitCode } of proof.gates) {
    const { exit } = await runStep(attempt, await clean.take(), { command, log: discard() });
    checks.push(check(`gate ${command}`, exitWord(exitCode), exitWord(exit.exitCode)));
  }
  return checks;
}

function exitWord(exitCode: number | undefined): string {
  return exitCode === undefined ? 'stopped' : `exit ${exitCode}`;
}

/** An attempt at nothing new: its sandboxes and volumes are as those of a story, but no run hears of it. */
async function openProof(worker: WorkerContext, request: VerifyRequest): Promise<Attempt> {
  const { proof, commit, gitDir, config, signal } = request;
  const name = mirrorName(gitDir);
  await updateMirror({ home: worker.home, name, from: gitDir, commit });
  const story = { ...proof.story, description: '', acceptance: [], priority: undefined, dependsOn: [] };
  const attempt = await openAttempt(worker, {
    // No id of a run looks like this, so that a worker's sweep leaves it alone.
    runId: 'verifying',
    state: { repo: { mirror: name }, tip: commit, stories: [{ id: story.id, key: storyKey(story.id) }] } as RunState,
    base: commit,
    prd: { stories: [] } as Partial<Prd> as Prd,
    story: { ...story, status: 'pending', notes: '', extra: {} },
    number: 1,
    epoch: randomInt(1_000_000, 1_000_000_000),
    config,
    hostGitDir: gitDir,
    signal,
  });
  return unheard(attempt);
}
