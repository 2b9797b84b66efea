import { HaloError } from '../../core/failure/errors.ts';

const OBJECT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text);
}

/** Guards places where a revision or an option would be understood as well. Throws INTERNAL. */
export function assertObjectId(text: string, what: string): void {
  if (!isObjectId(text)) throw new HaloError('INTERNAL', `${what} is not an object id.`);
}

/** Whether it is the id that stands for no object. */
export function isZeroId(id: string): boolean {
  return /^0+$/.test(id);
}

/** Returns the all-zero id ("no object") of the same length as `id`. */
export function zeroId(id: string): string {
  return '0'.repeat(id.length);
}
