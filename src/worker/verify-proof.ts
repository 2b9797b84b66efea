import type { Config } from '../config/config.ts';
import type { Proof } from '../core/review/proof.ts';
import { gitText } from '../git/process/git.ts';
import { parentsOf } from '../git/hold.ts';
import { mirrorName } from '../git/repository/repo-url.ts';
import { discard } from '../lib/sinks.ts';
import type { Attempt } from './attempt-context.ts';
import { allowsInside } from '../config/network.ts';
import { compareSettings, type Reference } from './proof/compare-record.ts';
import { check, requireImage, type Check } from './check.ts';
import { openOnCommit, runCommands } from './on-commit.ts';
import { VIEW } from './workspace/sandbox-paths.ts';
import { planSteps } from './plan-steps.ts';
import { withWholeMirror } from './whole-mirror.ts';
import type { WorkerContext } from './worker-context.ts';
import { openWorkspace } from './workspace.ts';

export interface VerifyRequest {
  proof: Proof;
  commit: string;
  /** The repository that has the commit. */
  gitDir: string;
  /** What the settings of the proof should be, and all that it does not name. */
  reference: Reference;
  /** Its settings count also where they differ. */
  trustRecord: boolean;
  signal: AbortSignal;
}

/**
 * Holds a landed commit against its record: the commit itself, the settings, and its gates once more, in a clean
 * container of the recorded image on exactly that tree. Nothing runs by settings that differ from the reference, unless
 * the record is trusted. Throws IMAGE_MISSING when the image is not here.
 */
export async function verifyProof(worker: WorkerContext, request: VerifyRequest): Promise<Check[]> {
  const { proof, commit, gitDir, reference, trustRecord, signal } = request;
  const facts = await checkCommit(request);
  const different = compareSettings(proof, reference);
  const same = `as in ${reference.origin}`;
  const settings = different.length === 0 ? [check('settings', same, same)] : different;
  if (different.length > 0 && !trustRecord) return [...facts, ...settings, NOT_RUN];
  const told = settings.map((row): Check => (different.length === 0 ? row : { ...row, ok: null }));
  if (different.length > 0 && allowsInside({ key: 'network.allow', value: proof.allow })) {
    const hosts = { what: 'hosts', recorded: proof.allow.join(', '), found: 'not public: refused', ok: false };
    return [...facts, ...told, hosts, NOT_RUN];
  }
  await requireImage(worker, proof.image.id, { whose: commit.slice(0, 12), called: proof.image.name });
  const config = settingsOf(proof, reference, different.length === 0);
  const repo = { source: gitDir, mirror: mirrorName(gitDir) };
  return withWholeMirror({ home: worker.home, repo }, async () => {
    const { story } = proof;
    const attempt = await openOnCommit(worker, { name: 'verifying', gitDir, commit, story, config, signal });
    try {
      return [...facts, ...told, ...(await proveAgain(attempt, request))];
    } finally {
      await attempt.close();
    }
  });
}

const NOT_RUN: Check = {
  what: 'setup and gates',
  recorded: '',
  found: 'not run, because the settings differ',
  ok: null,
};

async function checkCommit({ proof, commit, gitDir }: VerifyRequest): Promise<Check[]> {
  const [tree, parents] = await Promise.all([
    gitText(['rev-parse', '--verify', '--end-of-options', `${commit}^{tree}`], { gitDir }),
    parentsOf(gitDir, commit),
  ]);
  return [
    check('commit', proof.commit, commit),
    check('base', proof.base, parents.length === 0 ? 'none' : parents.join(' ')),
    check('tree', proof.tree, tree),
  ];
}

/** A record that only a person trusts gets the network that the file of a repository could have: public addresses. */
function settingsOf(proof: Proof, { config }: Reference, same: boolean): Config {
  const { network } = config;
  return {
    ...config,
    agent: 'command',
    agentCommand: 'true',
    image: proof.image.id,
    env: proof.env,
    setup: proof.setup,
    gates: proof.gates.map(({ command }) => command),
    tests: { ...config.tests, reports: proof.reports ?? [] },
    network: same ? network : { ...network, allow: proof.allow, registries: proof.registries ?? [], mayBePrivate: [] },
  };
}

async function proveAgain(attempt: Attempt, { commit }: VerifyRequest): Promise<Check[]> {
  const clean = openWorkspace(attempt, 'clean', planSteps(attempt).cleanSteps);
  await clean.checkOut(commit, attempt.mirrorDir, [VIEW]);
  const checks: Check[] = [];
  for await (const { kind, command, exit } of runCommands(attempt, clean, discard))
    checks.push(check(`${kind} ${command}`, 'exit 0', exitWord(exit.exitCode)));
  return checks;
}

function exitWord(exitCode: number | undefined): string {
  return exitCode === undefined ? 'stopped' : `exit ${exitCode}`;
}
