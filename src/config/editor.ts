import { HaloError } from '../core/failure/errors.ts';
import { readSecret, type Env } from './environment/host.ts';

/** The command line of the person's editor: VISUAL, else EDITOR. Throws USAGE where there is none. */
export function readEditor(env: Env): string {
  const editor = readSecret(env, 'VISUAL') ?? readSecret(env, 'EDITOR');
  if (editor !== undefined) return editor;
  throw new HaloError('USAGE', 'No editor is set: neither VISUAL nor EDITOR.', {
    hint: 'Set one, as in `EDITOR=nano halo prd edit`, or change the file yourself and check it with `halo prd validate`.',
  });
}
