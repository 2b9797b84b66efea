import type { BuildDescription } from '../adapter.ts';
import { PROGRAMS } from './launch.ts';

const HELP = '--- help ---';

/** Reports the names of the enabled features, and the help page of `codex exec`. */
export const describeCodexBuild: BuildDescription = {
  script: `for codex in ${PROGRAMS}; do
  [ -x "$codex" ] || continue
  "$codex" features list
  echo '${HELP}'
  exec "$codex" exec --help
done
`,
  read(output) {
    const [features = '', help = ''] = output.split(`${HELP}\n`);
    // A line is a name, its stage in words, and whether it is on.
    const on = features.split('\n').flatMap((line) => /^([\w-]+)\s.*\strue$/.exec(line.trim())?.[1] ?? []);
    return { features: on, help: help.trim() };
  },
};
