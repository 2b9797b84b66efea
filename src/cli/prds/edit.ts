import { copyFile, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HaloError } from '../../core/errors.ts';
import { safeLine } from '../../core/safe-text.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { requireNamedPrd } from '../named-prds.ts';

/** The copy that is being edited; it stays when what was written cannot be a PRD. */
export const DRAFT_FILE = 'prd.draft.json';

export const defineEdit: Define = (command, cli) => {
  command
    .summary('change a PRD in your editor')
    .description(
      'Opens the stories of a PRD in $VISUAL or $EDITOR and checks them before they are saved. What cannot be run stays in a draft beside the PRD, which the next edit goes on with.',
    )
    .helpOption('-h, --help', 'show help')
    .argument('[name]', 'the PRD; may be left out where there is only one')
    .addHelpText('after', HELP)
    .action((name: string | undefined) => edit(name, cli));
};

const HELP = `
Examples:
  halo prd edit checkout
  EDITOR='code --wait' halo prd edit checkout

Exit codes:
  0 saved, or nothing changed    2 wrong usage    6 it cannot be run, and why

See also: halo prd validate, halo prd status`;

async function edit(wanted: string | undefined, cli: Cli): Promise<void> {
  const { name, path } = await requireNamedPrd(cli.cwd, wanted);
  const draft = join(dirname(path), DRAFT_FILE);
  const before = await readFile(path);
  const goesOn = await stat(draft).then(
    () => true,
    () => false,
  );
  if (goesOn) await cli.note('going on with the draft of the last edit');
  else await copyFile(path, draft);
  await cli.services.editFile(draft);
  const after = await readFile(draft);
  if (after.equals(before)) {
    await rm(draft);
    return cli.note('nothing changed');
  }
  const stays = `${path} is as it was; \`halo prd edit ${name}\` goes on with what you wrote, ${draft}.`;
  const prd = await cli.services.parsePrd({ path: draft, bytes: after, as: 'daedalus' }).catch((error: unknown) => {
    if (!(error instanceof HaloError)) throw error;
    throw new HaloError(error.code, error.message, { hint: `${error.hint ?? ''} ${stays}`.trim(), cause: error });
  });
  if (!(await readFile(path)).equals(before))
    throw new HaloError('PRD_UNREADABLE', `${path} was changed by somebody else meanwhile, such as a run.`, {
      hint: `Compare the two. ${stays}`,
    });
  await rename(draft, await realpath(path));
  await cli.note(`saved ${safeLine(name)}: ${prd.stories.length} stories`);
}
