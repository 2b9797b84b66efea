import type { Operations } from '../../../api/operations.ts';
import type { StorySource } from '../../../cli/options/story-source.ts';
import { HaloError } from '../../../core/failure/errors.ts';
import { defined } from '../../../lib/guards.ts';

interface Flags {
  source?: string;
  label?: string;
  again?: true;
}

/** Stories that are issues of a project on a forge. */
export const issueSource: StorySource = {
  addOptions(command) {
    command
      .option('--source <forge>', 'work on issues: github[:owner/repo], gitlab:group/project or gitea:owner/repo')
      .option('--label <label>', 'the label of these issues (default: issues.label, which is halo)')
      .option('--again', 'with --source: work on issues again that a run works on or has done');
  },
  choose(flags: Flags, others) {
    assertSource(flags, others);
    const { source, label, again } = flags;
    if (source === undefined) return undefined;
    const asked = { source, ...defined({ label, again }) };
    return {
      submit: (operations: Operations, options) => operations.submitIssues({ ...options, ...asked }),
      async read({ services, cwd }) {
        const [{ previewIssues }, { processEnv }] = await Promise.all([
          import('../api/submit-issue-run.ts'),
          import('../../../config/environment/host.ts'),
        ]);
        const [host, masker] = await Promise.all([services.readHost(), services.openMasker()]);
        return previewIssues({ host, env: processEnv(), masker }, { ...asked, repo: cwd });
      },
    };
  },
};

/** Throws USAGE for options that --source excludes, and for --label and --again without it. */
function assertSource({ source, label, again }: Flags, others: Record<string, unknown>): void {
  if (source === undefined) {
    const lone = label !== undefined ? '--label' : again ? '--again' : undefined;
    if (lone === undefined) return;
    throw new HaloError('USAGE', `${lone} is only for issues.`, { hint: 'Add --source, as in `--source github`.' });
  }
  const [name] = Object.entries(others).find(([, value]) => value !== undefined) ?? [];
  if (name === undefined) return;
  throw new HaloError('USAGE', `--source cannot be combined with ${name}.`, {
    hint: `Remove ${name}: the stories are the issues.`,
  });
}
