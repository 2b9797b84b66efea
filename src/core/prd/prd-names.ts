/** Where PRDs with names are kept, below the top of a project. */
export const PRDS_FOLDER = '.halo/prds';
/** The file with the stories of a PRD, in its folder. */
export const PRD_FILE = 'prd.json';
/** What the newest run of a PRD writes, as its folder shows it. */
export const RUN_FILES = ['agent.log', 'events.jsonl', 'progress.md'] as const;

/** A name is a folder's name on any system, and never looks like a path, a file with an ending or an option. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** The same for people. */
export const NAME_RULE = 'up to 64 letters, digits, - and _, beginning with a letter or a digit';

/** Whether a PRD can be called so. */
export function isPrdName(text: string): boolean {
  return NAME.test(text);
}

/** The folder of the named PRD that a path leads to; undefined: it is a PRD of another place. */
export function folderOfNamedPrd(path: string): string | undefined {
  const found = /^(.*\/\.halo\/prds\/([^/]+))\/prd\.json$/.exec(path.replaceAll('\\', '/'));
  return found !== null && isPrdName(found[2] ?? '') ? found[1] : undefined;
}
