import { relative, resolve } from 'node:path';
import { exitCodeOf } from '../../core/failure/stop-reason.ts';
import type { DocumentImport, Imported } from '../../api/repository/import-document.ts';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { askPerson } from '../run/run-until-signal.ts';
import type { Cli, Define } from '../cli.ts';
import { showDiff } from '../diff/diff-text.ts';
import { readDocument } from '../options/read-prd.ts';
import { table, terminalColumns, type Cell } from '../output/table.ts';
import { runHere, type Followed } from '../run/local-run.ts';
import { addSettingOptions, settingsOf, type SettingFlags } from '../options/run-options.ts';

interface Flags extends SettingFlags {
  out: string;
  list?: true;
  yes?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Runs an agent that turns a document into a PRD, in a sandbox that contains only the document, and shows the result as a diff. Nothing is written until you confirm.',
      )
      .argument('<document>', 'a text file, e.g. Markdown')
      .option('--out <file>', 'the PRD file to create or change', 'prd.json'),
  )
    .option('--list', 'without an agent: each item of the lists, or each line, becomes a story')
    .option(
      '-y, --yes',
      'write without asking, unless completed stories would be removed, reopened or replaced (without a terminal, nothing is written then, exit code 4); required without a terminal',
    )
    .addHelpText('after', HELP)
    .action((document: string, flags: Flags) => importDocument(document, flags, cli));
};

const HELP = `
Examples:
  halo import idea.md
  halo import todo.md --list
  halo import notes.md --out .halo/prds/shop/prd.json --agent claude

Agent, model and image come from halo.toml in this folder and your user settings.

Exit codes:
  0 written    2 wrong usage    4 not confirmed    6 no document, or the agent wrote no valid PRD
  130 stopped  others as for halo run

See also: halo prd validate, halo run`;

async function importDocument(document: string, flags: Flags, cli: Cli): Promise<void> {
  if (flags.yes !== true && cli.ask === undefined)
    throw new HaloError('USAGE', 'Confirming the PRD needs a terminal.', {
      hint: 'Run `halo import` in a terminal, or add --yes to write it without asking.',
    });
  const out = resolve(cli.cwd, flags.out);
  if (!out.endsWith('.json'))
    throw new HaloError('USAGE', `${flags.out} is not the name of a JSON file.`, {
      hint: 'Use a name such as --out prd.json.',
    });
  if (flags.list === true && settingsOf(flags).length + (flags.profile === undefined ? 0 : 1) > 0)
    throw new HaloError('USAGE', 'With --list, no agent runs that settings could apply to.', {
      hint: 'Leave out --list, or --agent, --profile and -c.',
    });
  if (flags.list === true) return importItems(document, { flags, out }, cli);
  const { openImport } = await import('../../api/repository/import-document.ts');
  const imported = await openImport((await cli.services.readHost()).home, {
    ...(await readDocument(document, cli)),
    out,
    folder: cli.cwd,
    profile: flags.profile,
    set: settingsOf(flags),
  });
  try {
    const finish = (followed: Followed) => saveImport(followed, { imported, out, flags, cli });
    await runHere(imported.request, { cli, json: false, asks: false, local: true, report: 'none', finish });
  } finally {
    await imported.close();
  }
}

/** Shows the stories of the lists and, if the user confirms, writes them. */
async function importItems(document: string, { flags, out }: { flags: Flags; out: string }, cli: Cli): Promise<void> {
  const { importList } = await import('../../api/repository/import-list.ts');
  const imported = await importList({
    ...(await readDocument(document, cli)),
    out,
    folder: cli.cwd,
  });
  const { stories } = imported;
  const heading = ['STORY', 'PRIORITY', 'TITLE'].map((text) => ({ text }));
  const rows = stories.map(({ id, priority, title, done }): Cell[] => [
    { text: id, tone: 'strong' },
    { text: done ? 'done' : String(priority) },
    { text: title },
  ]);
  await cli.print(...table([heading, ...rows], { paint: cli.paint, width: terminalColumns(cli) }));
  const answer = await ask({ count: countOf(stories.length), out, replaced: [] }, flags, cli);
  if (answer !== 'yes') {
    cli.exitCode = exitCodeOf(answer === undefined ? 'USER_ABORT' : 'APPROVAL_DENIED');
    return cli.note('Nothing was written.');
  }
  await imported.save();
  await cli.note(`Wrote ${countOf(stories.length)} to ${out}. Next: halo prd validate ${relative(cli.cwd, out)}`);
}

interface ImportResult {
  imported: DocumentImport;
  out: string;
  flags: Flags;
  cli: Cli;
}

/** Shows the imported PRD and, if the user confirms, writes it. Throws PRD_INVALID if the agent wrote no valid PRD. */
async function saveImport(
  { operations, runId, end }: Followed,
  { imported, out, flags, cli }: ImportResult,
): Promise<void> {
  const { state, dir } = await operations.getRun({ runId });
  if (end !== 'SUCCESS') {
    cli.exitCode = exitCodeOf(end ?? 'USER_ABORT');
    return cli.note(`${cli.paintErr('bad', 'FAILED')}  no PRD was written: ${safeLine(state.detail ?? '')}`, dir);
  }
  const { text, changed, stories, replaced } = await imported.read(state).catch(async (error: unknown) => {
    await operations.reject({ runId, reason: 'the agent wrote no valid PRD' });
    await cli.note(`${cli.paintErr('bad', 'FAILED')}  the agent wrote no valid PRD; nothing was written`, dir);
    throw error;
  });
  if (!changed) return cli.note(`The agent changed nothing; ${out} is unchanged.`);
  await showDiff(await operations.readDiff({ runId }), cli);
  const answer = await ask({ count: countOf(stories), out, replaced }, flags, cli);
  if (answer !== 'yes') {
    cli.exitCode = exitCodeOf(answer === undefined ? 'USER_ABORT' : 'APPROVAL_DENIED');
    await operations.reject({ runId, reason: 'its PRD was not written' });
    return cli.note('Nothing was written.');
  }
  await imported.save(text);
  await cli.note(`Wrote ${countOf(stories)} to ${out}. Next: halo prd validate ${relative(cli.cwd, out)}`);
}

interface Question {
  count: string;
  out: string;
  replaced: Imported['replaced'];
}

/** --yes covers new and open stories; replacing finished stories always requires an interactive answer. */
async function ask({ count, out, replaced }: Question, flags: Flags, cli: Cli): Promise<'yes' | 'no' | undefined> {
  if (replaced.length > 0) {
    const named = replaced.slice(0, MAX_NAMED).map(({ id, title }) => `  ${safeLine(id)}  ${safeLine(title)}`);
    const more = replaced.length > MAX_NAMED ? [`  and ${replaced.length - MAX_NAMED} more`] : [];
    const what =
      replaced.length === 1 ? 'This finished story would be replaced' : 'These finished stories would be replaced';
    await cli.note(`${cli.paintErr('warn', `${what} in ${out}:`)}`, ...named, ...more);
  } else if (flags.yes === true) return 'yes';
  if (cli.ask === undefined) {
    await cli.note(
      '--yes does not replace finished stories. Run `halo import` in a terminal, or name another file with --out.',
    );
    return 'no';
  }
  const answer = await askPerson(`Write ${count} to ${out}? [y]es, anything else: no  `, cli);
  if (answer === undefined) return undefined;
  return answer === 'y' || answer === 'yes' ? 'yes' : 'no';
}

const MAX_NAMED = 20;

function countOf(stories: number): string {
  return `${stories} ${stories === 1 ? 'story' : 'stories'}`;
}
