/** The folder of named PRDs, relative to the project. */
export const PRDS_FOLDER = '.halo/prds';
/** The folders in which PRDs are found by their name, the first one first; the second one is that of daedalus. */
export const PRDS_FOLDERS = [PRDS_FOLDER, '.daedalus/prds'] as const;
/** The file name of a named PRD. */
export const PRD_FILE = 'prd.json';
/** Links to files of the latest run in the folder of a PRD. */
export const RUN_FILES = ['agent.log', 'events.jsonl', 'progress.md'] as const;
/** Pattern of drafts of an edited PRD, in its folder. */
export const DRAFT_FILES = 'prd.draft-*.json';
/** The .gitignore of a folder of named PRDs: files that runs and edits write are not part of the repository. */
export const PRDS_GITIGNORE = [...RUN_FILES, DRAFT_FILES].map((file) => `/*/${file}\n`).join('');

/** A valid folder name on every system that is never a path, a file name with an extension or an option. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** The rule as text. */
export const NAME_RULE = 'up to 64 letters, digits, - and _, beginning with a letter or a digit';

/** Whether a text is a valid PRD name. */
export function isPrdName(text: string): boolean {
  return NAME.test(text);
}

/** The folder of the named PRD that a path refers to; undefined for other PRD files. */
export function folderOfNamedPrd(path: string): string | undefined {
  const found = /^(.*\/\.(?:halo|daedalus)\/prds\/([^/]+))\/prd\.json$/.exec(path.replaceAll('\\', '/'));
  return found !== null && isPrdName(found[2] ?? '') ? found[1] : undefined;
}
