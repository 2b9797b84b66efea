import { HaloError } from '../core/errors.ts';
import { printable } from './printable.ts';

/** A refused import: names the path (escaped, undefined for the whole) and the rule it breaks. */
export function violation(path: string | undefined, rule: string): HaloError {
  const what = path === undefined ? "The agent's result" : `"${printable(path)}"`;
  return new HaloError('POLICY_VIOLATION', `${what} is refused: ${rule}.`, {
    hint: 'Nothing of this attempt was taken over; the repository is unchanged.',
  });
}
