import { z } from 'zod';
import { key } from './key-facts.ts';
import { wholeNumber } from './schema/values.ts';

const FLEET = 'Only in `<HALO_HOME>/config.toml`.';
const Slots = wholeNumber(1, 10_000).optional();

/** `[fleet]`: most stories at once. */
export const Fleet = z.strictObject({
  max: key(Slots, ['whole number', undefined, `Most stories at once, of all workers. ${FLEET}`]),
  per_host: key(Slots, ['whole number', undefined, `Most stories at once on one machine. ${FLEET}`]),
  per_repo: key(Slots, ['whole number', undefined, `Most stories at once of one repository. ${FLEET}`]),
  per_user: key(Slots, ['whole number', undefined, `Most stories at once of one user. ${FLEET}`]),
  per_agent: z.strictObject({
    codex: key(Slots, ['whole number', undefined, `Most stories at once that Codex works on. ${FLEET}`]),
    claude: key(Slots, ['whole number', undefined, `Most stories at once that Claude Code works on. ${FLEET}`]),
    opencode: key(Slots, ['whole number', undefined, `Most stories at once that opencode works on. ${FLEET}`]),
    gemini: key(Slots, ['whole number', undefined, `Most stories at once that Gemini CLI works on. ${FLEET}`]),
    command: key(Slots, ['whole number', undefined, `Most stories at once that commands work on. ${FLEET}`]),
  }),
});
