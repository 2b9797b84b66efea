import { describeFailedTests, failedTestsLines, findFailedTests } from '../../core/test-report/failed-tests.ts';
import { checkClaims, type CriterionClaim } from '../../core/review/criteria.ts';
import type { GateProof } from '../../core/review/proof.ts';
import { joinRestored, restoredText, type Restored } from '../../core/review/restored-paths.ts';
import type { TestCase } from '../../core/test-case.ts';
import type { Attempt } from '../attempt-context.ts';
import type { Baseline } from '../baseline.ts';
import { keepEvidence, type Evidence } from '../attempt/gate-results.ts';
import { CANDIDATE, VIEW } from '../workspace/sandbox-paths.ts';
import { resultOf, runStep } from '../run-step.ts';
import { describeExit, failed, failedForProgram, missingProgram, refuseBrokenExit } from '../story-end.ts';
import type { Workspace } from '../workspace.ts';
import { reportTests } from './compare-tests.ts';
import type { Candidate } from './import.ts';
import { readReports } from './reports.ts';
import { installDependencies } from './setup.ts';

export interface GatesRequest {
  candidate: Pick<Candidate, 'commit'>;
  baseline: Baseline;
  /** What the agent says satisfies the criteria, which is told with what the gates know of its tests. */
  claims?: readonly CriterionClaim[] | undefined;
}

/** Proves the candidate in a clean checkout: every gate must exit 0, each as the main process of its own sandbox. */
export async function runGates(
  attempt: Attempt,
  clean: Workspace,
  { candidate, baseline, claims = [] }: GatesRequest,
): Promise<GateProof[]> {
  return attempt.phase('gates', async () => {
    const { config, candidateDir, gatesFolder, worker, place } = attempt;
    const gates = config.gates ?? [];
    const proofs: GateProof[] = [];
    let undone: Restored | undefined;
    if (gates.length === 0) {
      await reportClaims(attempt, claims, null);
      return proofs;
    }
    await clean.checkOut(candidate.commit, candidateDir, [VIEW, CANDIDATE]);
    await installDependencies(attempt, clean, 'gates');
    for (const [index, command] of gates.entries()) {
      await attempt.report({ type: 'gate.started', command });
      const log = `${gatesFolder}/${index + 1}.log`;
      const output = worker.store.openArtifact(place, log);
      const started = await clean.take();
      const { restored } = started;
      if (restored !== undefined) {
        undone = joinRestored(undone, restored);
        await attempt.report({ type: 'tree.restored', command, ...restored });
      }
      const { exit, tail, sha256 } = await runStep(attempt, started, { command, log: output, phase: 'gates' });
      const printed = exit.exitCode === 0 ? undefined : await worker.store.readArtifact(place, log);
      const failures = printed === undefined ? undefined : findFailedTests(printed);
      await attempt.report({
        type: 'gate.ended',
        ...resultOf(command, exit, tail),
        ...(failures && { failed: failures }),
        log,
        sha256,
      });
      refuseBrokenExit(exit, { what: `gate \`${command}\``, limits: config.limits }, tail);
      if (exit.exitCode !== 0) {
        const evidence = await baseline.evidence();
        const base = describeBase(evidence, command);
        const program = missingProgram(exit, tail);
        // Where the base has the program, the story has lost it.
        if (program !== undefined && exitOnBase(evidence, command) === 127)
          throw failedForProgram(program, { what: `gate \`${command}\``, image: config.image, tail });
        const before = undone === undefined ? '' : `; halo had ${restoredText(undone)}`;
        const tests = failures === undefined ? '' : `${describeFailedTests(failures)}; `;
        // The command last: it may be long.
        const why = `${tests}gate ${describeExit(exit, config.limits, tail)}${base}${before}: \`${command}\``;
        throw failed(
          'GATE_FAILED',
          why,
          failures === undefined ? tail : `${failedTestsLines(failures).join('\n')}\n\n${tail}`,
        );
      }
      proofs.push({ command, exitCode: exit.exitCode, ms: exit.ms, sha256 });
    }
    const tests = await readReports(
      attempt,
      clean,
      gates.map((_command, index) => `${gatesFolder}/${index + 1}.log`),
    );
    await reportClaims(attempt, claims, tests);
    await reportTests(attempt, tests, baseline);
    await keepEvidence(attempt, candidate.commit, { v: 1, setupFailed: false, gates: proofs, tests });
    return proofs;
  });
}

async function reportClaims(attempt: Attempt, claims: readonly CriterionClaim[], tests: TestCase[] | null) {
  if (claims.length === 0) return;
  await attempt.report({ type: 'criteria.claimed', criteria: checkClaims(claims, tests), reported: tests !== null });
}

/** Tells a broken base from a broken story. */
function describeBase(evidence: Evidence | undefined, command: string): string {
  if (evidence?.setupFailed === true) return '; on the base commit not even setup works';
  return (exitOnBase(evidence, command) ?? 0) === 0 ? '' : '; it fails on the base commit as well';
}

function exitOnBase(evidence: Evidence | undefined, command: string): number | undefined {
  return evidence?.gates.find((gate) => gate.command === command)?.exitCode;
}
