import { HaloError } from '../../core/failure/errors.ts';
import { confirmationOfAll, FLAGS, type Change, type Confirmation, type Flag } from '../../core/review/flags.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { Cli } from '../cli.ts';
import { printFindings } from '../output/review-text.ts';
import { askPerson } from '../run/run-until-signal.ts';

/** `--confirm` of commands that accept a change. */
export const CONFIRM_OPTION = [
  '--confirm <flags>',
  'confirm what the change has, separated by commas: secret, hidden, tests, protected, binary',
  parseFlags,
] as const;

function parseFlags(text: string): Flag[] {
  return text.split(',').map((word) => {
    const flag = FLAGS.find((each) => each === word.trim());
    if (flag !== undefined) return flag;
    throw new HaloError('USAGE', `"${word.trim()}" is not something to confirm.`, {
      hint: `Use one or more of ${FLAGS.join(', ')}.`,
    });
  });
}

/** The question, and what a refusal has not done. */
const WORDS = {
  land: { ask: 'Land it anyway?', done: 'landed' },
  approve: { ask: 'Approve it anyway?', done: 'approved' },
  pr: { ask: 'Push the possible secret to the forge?', done: 'pushed' },
};

interface Asked {
  runId: string;
  verb: keyof typeof WORDS;
  /** What was shown to the user, up to `commit`. */
  changes: readonly Change[];
  commit: string | undefined;
  confirm: Flag[] | undefined;
  json?: true | undefined;
}

/**
 * Prints what a reviewer may overlook and calls an operation that accepts a change. At a terminal, asks for all that the
 * operation demands, which includes changes of runs that this one continues. Throws LAND_REFUSED for any answer but yes.
 */
export async function confirming<T>(
  { runId, verb, changes, commit, confirm, json }: Asked,
  decide: (confirmation: Confirmation) => Promise<T>,
  cli: Cli,
): Promise<T> {
  if (json) return decide({ confirm });
  await printFindings(changes, cli);
  try {
    return await decide({ confirm, commit });
  } catch (error) {
    const asked = error instanceof HaloError ? error.unconfirmed : undefined;
    const all = asked && confirmationOfAll({ commit }, asked);
    if (cli.ask === undefined || asked === undefined || all === undefined) throw error;
    const others = asked.found.filter(({ run }) => run !== runId);
    for (const { run, text } of others)
      await cli.note(`${cli.paintErr('warn', 'warning:')} run ${safeLine(run)}, ${safeLine(text)}`);
    const { ask, done } = WORDS[verb];
    const answer = await askPerson(`${ask} [y]es, anything else: no  `, cli);
    if (answer === 'y' || answer === 'yes') return decide(all);
    const diffs = [...new Set([runId, ...others.map(({ run }) => run)])].map((run) => `\`halo diff ${run}\``);
    throw new HaloError('LAND_REFUSED', `Nothing was ${done}.`, {
      hint: `Review the change with ${diffs.join(' and ')}. --confirm ${all.confirm.join(',')} confirms it without a question.`,
    });
  }
}
