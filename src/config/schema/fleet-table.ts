import { z } from 'zod';
import { key } from './key-metadata.ts';
import { HOST_FILE } from '../trust/key-trust.ts';
import { wholeNumber } from './values.ts';

const FLEET = 'Only in `<HALO_HOME>/config.toml`.';
const Slots = wholeNumber(1, 10_000).optional();

/** `[fleet]`: limits on concurrent stories. */
export const Fleet = z.strictObject({
  max: key(
    Slots,
    ['whole number', undefined, `Maximum number of concurrent stories, over all workers. ${FLEET}`],
    HOST_FILE,
  ),
  per_host: key(
    Slots,
    ['whole number', undefined, `Maximum number of concurrent stories on one machine. ${FLEET}`],
    HOST_FILE,
  ),
  per_repo: key(
    Slots,
    ['whole number', undefined, `Maximum number of concurrent stories of one repository. ${FLEET}`],
    HOST_FILE,
  ),
  per_user: key(
    Slots,
    ['whole number', undefined, `Maximum number of concurrent stories of one user. ${FLEET}`],
    HOST_FILE,
  ),
  per_agent: z.strictObject({
    codex: key(
      Slots,
      ['whole number', undefined, `Maximum number of concurrent stories with Codex. ${FLEET}`],
      HOST_FILE,
    ),
    claude: key(
      Slots,
      ['whole number', undefined, `Maximum number of concurrent stories with Claude Code. ${FLEET}`],
      HOST_FILE,
    ),
    opencode: key(
      Slots,
      ['whole number', undefined, `Maximum number of concurrent stories with opencode. ${FLEET}`],
      HOST_FILE,
    ),
    gemini: key(
      Slots,
      ['whole number', undefined, `Maximum number of concurrent stories with Gemini CLI. ${FLEET}`],
      HOST_FILE,
    ),
    command: key(
      Slots,
      ['whole number', undefined, `Maximum number of concurrent stories with commands. ${FLEET}`],
      HOST_FILE,
    ),
  }),
});
