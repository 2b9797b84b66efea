import { relative, resolve } from 'node:path';
import { exitCodeOf } from '../../core/stop-reason.ts';
import { HaloError } from '../../core/errors.ts';
import { askPerson } from '../ask-person.ts';
import type { Cli } from '../cli.ts';
import type { Define } from '../define.ts';
import { showDiff } from '../diff-text.ts';
import { readDocument } from '../read-prd.ts';
import { runHere, type Followed } from '../run-here.ts';
import { addSettingOptions, settingsOf, type SettingFlags } from '../run-options.ts';

interface Flags extends SettingFlags {
  out: string;
  yes?: true;
}

export const define: Define = (command, cli) => {
  addSettingOptions(
    command
      .description(
        'Has an agent turn a document into a PRD, in a sandbox that holds nothing but the document, and shows what it would write as a diff. Nothing is written before you say yes.',
      )
      .argument('<document>', 'a text file, e.g. Markdown')
      .option('--out <file>', 'the PRD to write or to change', 'prd.json'),
  )
    .option('--yes', 'write it without asking')
    .addHelpText('after', HELP)
    .action((document: string, flags: Flags) => importDocument(document, flags, cli));
};

const HELP = `
Examples:
  halo import idea.md
  halo import notes.md --out .halo/prds/shop/prd.json --agent claude

Agent, model and image are those of halo.toml in this folder and of your own settings.

Exit codes:
  0 written    2 wrong usage    4 you said no    6 no document, or no PRD came of it
  130 stopped  others as of halo run

See also: halo prd validate, halo run`;

async function importDocument(document: string, flags: Flags, cli: Cli): Promise<void> {
  if (flags.yes !== true && cli.ask === undefined)
    throw new HaloError('USAGE', 'There is nobody to show the PRD to.', {
      hint: 'Run `halo import` in a terminal, or add --yes to write it without asking.',
    });
  const out = resolve(cli.cwd, flags.out);
  if (!out.endsWith('.json'))
    throw new HaloError('USAGE', `${flags.out} is no name of a JSON file.`, { hint: 'Say e.g. --out prd.json.' });
  const imported = await cli.services.openImport({
    ...(await readDocument(document, cli)),
    out,
    folder: cli.cwd,
    profile: flags.profile,
    set: settingsOf(flags),
  });
  try {
    const finish = async ({ operations, runId, end }: Followed) => {
      if (end !== 'SUCCESS') return void (cli.exitCode = exitCodeOf(end ?? 'USER_ABORT'));
      const { text, stories } = await imported.read((await operations.get(runId)).state);
      await showDiff(await operations.diff(runId, undefined), cli);
      if (flags.yes !== true) {
        const answer = await askPerson(
          `Write ${stories} ${stories === 1 ? 'story' : 'stories'} to ${out}? [y]es, anything else: no  `,
          cli,
        );
        if (answer !== 'y' && answer !== 'yes') {
          cli.exitCode = exitCodeOf(answer === undefined ? 'USER_ABORT' : 'APPROVAL_DENIED');
          return cli.note('Nothing was written.');
        }
      }
      await imported.save(text);
      await cli.note(`Wrote ${out}. Next: halo prd validate ${relative(cli.cwd, out)}`);
    };
    await runHere(imported.request, { cli, json: false, asks: false, local: true, finish });
  } finally {
    await imported.close();
  }
}
