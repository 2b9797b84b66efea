import { hostname } from 'node:os';
import { userName } from './user-name.ts';

/** The person behind this process, as journals name them: `user@host`. */
export function whoAmI(): string {
  return `${userName()}@${hostname()}`;
}
