import type { Layer } from './provider.ts';

const KEY = 'approval.mode';
/** From the least to the most that a person looks at. */
const MODES: readonly unknown[] = ['never', 'run', 'story'];

/**
 * The file of a repository, which others write, may ask for more approval than the person who runs halo does, and
 * never for less: what it says beyond that is left out.
 */
export function withoutLooserApproval(layers: readonly Layer[]): Layer[] {
  let least = 0;
  return layers.map(({ settings, trusted }) => {
    const said = settings.findLast(({ key }) => key === KEY);
    if (trusted && said !== undefined) least = MODES.indexOf(said.value);
    const kept = trusted ? settings : settings.filter(({ key, value }) => key !== KEY || MODES.indexOf(value) >= least);
    return { settings: kept, trusted };
  });
}
