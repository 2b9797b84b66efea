import { HaloError } from '../../core/failure/errors.ts';
import { FLAGS, flagsOf, type Change, type Confirmation, type Flag } from '../../core/review/flags.ts';
import type { Cli } from '../cli.ts';
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
  changes: readonly Change[];
  commit: string;
  verb: keyof typeof WORDS;
  /** The flags that the decision is about; without it, all. */
  flags?: readonly Flag[];
  confirm: Flag[] | undefined;
}

/**
 * What the user confirms of the changes: what `--confirm` names and, at a terminal, all that was printed, after a yes.
 * Throws LAND_REFUSED for any other answer.
 */
export async function confirmFlags(
  { changes, commit, verb, flags: asked = FLAGS, confirm = [] }: Asked,
  cli: Cli,
): Promise<Confirmation> {
  const flags = flagsOf(changes).filter((flag) => asked.includes(flag));
  if (cli.ask === undefined || flags.every((flag) => confirm.includes(flag))) return { confirm, commit };
  const { ask, done } = WORDS[verb];
  const answer = await askPerson(`${ask} [y]es, anything else: no  `, cli);
  if (answer === 'y' || answer === 'yes') return { confirm: flags, commit };
  throw new HaloError('LAND_REFUSED', `Nothing was ${done}.`, {
    hint: `Review the change with \`halo diff\`. --confirm ${flags.join(',')} confirms it without a question.`,
  });
}
