import type { OnMeasured } from './attempt-outcome.ts';
import { openWorkspaces } from './attempt-workspaces.ts';
import type { Attempt } from './open-attempt.ts';
import { exportTree } from './phases/export-tree.ts';
import { importCandidate, newWork, type ImplementedWork } from './phases/import-candidate.ts';
import { prepareWorkspace, runSetup } from './phases/prepare-workspace.ts';
import { requireAnswer, runAgent } from './phases/run-agent.ts';
import { findKeptTests } from './tests/kept-tests.ts';
import { joinMeasured, useKeptTests, writeTests } from './tests/write-tests.ts';
import { openBaseLayer } from '../snapshot/open-layer.ts';
import { onLayer } from '../snapshot/snapshot-layer.ts';

/** Runs the phases up to the import: the agent's work becomes a candidate, on top of the tests that were written first. */
export async function implementStory(given: Attempt, onMeasured: OnMeasured): Promise<ImplementedWork> {
  const opened = onLayer(given, await openBaseLayer(given));
  const kept = await findKeptTests(opened);
  const workspaces = openWorkspaces(opened, kept);
  const { work } = workspaces;
  try {
    await prepareWorkspace(opened, work, kept);
    await runSetup(opened, work);
    const { attempt, measured: before } =
      kept === undefined ? await writeTests(opened, work, onMeasured) : await useKeptTests(opened, kept);
    const { exporter, clean, baseline } = workspaces.startAhead(attempt);
    const { measured: own, end } = await runAgent(attempt, work, exporter);
    const measured = joinMeasured(before, own);
    onMeasured(measured);
    const { summary, criteria } = requireAnswer(end);
    const tree = await exportTree(attempt, exporter);
    const candidate = await importCandidate(attempt, tree, summary);
    onMeasured({ ...measured, changed: candidate !== undefined, files: candidate?.changed });
    const { locked } = attempt;
    return newWork(attempt, { candidate, summary, claims: criteria, usage: measured.usage, locked, clean, baseline });
  } catch (error) {
    workspaces.stop();
    throw error;
  }
}
