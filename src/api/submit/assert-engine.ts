import { enginesFor, labelsText, type EngineRules, type PlacedRun } from '../../core/engine/placement.ts';
import { HaloError } from '../../core/failure/errors.ts';

/**
 * Throws CONFIG_INVALID if no engine may run the stories of a run. `here`: it is executed by the process that submits it, on
 * the engine of the environment, which has no labels.
 */
export function assertEngine(
  run: PlacedRun,
  { engines, here }: { engines: readonly EngineRules[]; here: boolean },
): void {
  const { engineLabels, repo, user } = run;
  if (engineLabels === undefined) return;
  const asked = `engine.labels: ${repo.source} asks for an engine with ${labelsText(engineLabels)}`;
  if (here)
    throw new HaloError('CONFIG_INVALID', `${asked}, and \`halo run\` uses the engine of this machine.`, {
      hint: 'Use `halo submit`, or run it here with `-c engine.labels=[]`.',
    });
  if (enginesFor(run, engines).length > 0) return;
  throw new HaloError('CONFIG_INVALID', `${asked}, and none is configured for ${user} and this repository.`, {
    hint: 'Remove labels, or let the operator of halo add them to an engine in config.toml of HALO_HOME.',
  });
}
