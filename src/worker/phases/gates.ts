import type { GateProof } from '../../core/proof.ts';
import type { Attempt } from '../attempt-context.ts';
import { candidateIn, MIRROR } from '../places.ts';
import { resultOf, runStep } from '../run-step.ts';
import { describeExit, failed, refuseBrokenExit } from '../story-end.ts';
import type { Workspace } from '../workspace.ts';
import type { Candidate } from './import.ts';
import { installDependencies } from './setup.ts';

/** Proves the candidate in a clean checkout: every gate must exit 0, each as the main process of its own sandbox. */
export async function runGates(attempt: Attempt, clean: Workspace, candidate: Candidate): Promise<GateProof[]> {
  return attempt.phase('gates', async () => {
    const { config, id, candidateDir, worker, place } = attempt;
    const gates = config.gates ?? [];
    const proofs: GateProof[] = [];
    if (gates.length === 0) return proofs;
    await clean.checkOut(candidate.commit, candidateDir, [MIRROR, candidateIn(id)]);
    await installDependencies(attempt, clean, 'gates');
    for (const [index, command] of gates.entries()) {
      await attempt.report({ type: 'gate.started', command });
      const log = `gates/${index + 1}.log`;
      const output = worker.store.openArtifact(place, log);
      const { exit, tail, sha256 } = await runStep(attempt, await clean.take(), { command, log: output });
      await attempt.report({ type: 'gate.ended', ...resultOf(command, exit, tail), log, sha256 });
      refuseBrokenExit(exit, `gate \`${command}\``, tail);
      if (exit.exitCode !== 0) throw failed('GATE_FAILED', `gate \`${command}\` ${describeExit(exit, tail)}`, tail);
      proofs.push({ command, exitCode: exit.exitCode, ms: exit.ms, sha256 });
    }
    return proofs;
  });
}
