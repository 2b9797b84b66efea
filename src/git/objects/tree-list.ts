import { gitStream } from '../process/git.ts';
import { defined } from '../../lib/guards.ts';

export interface TreeFile {
  /** `100644`, `100755`, `120000` or `160000`. */
  mode: string;
  id: string;
  path: string;
}

/** Lists the files of a commit that match `isWanted`, without keeping the whole list in memory. Throws GIT_FAILED. */
export async function listFiles(
  { gitDir, commit, signal }: { gitDir: string; commit: string; signal?: AbortSignal | undefined },
  isWanted: (file: TreeFile) => boolean,
): Promise<TreeFile[]> {
  const args = ['ls-tree', '-r', '-z', '--full-tree', '--end-of-options', commit];
  const list = await gitStream(args, { gitDir, ...defined({ signal }) });
  const files: TreeFile[] = [];
  let rest = '';
  for await (const chunk of list.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\0');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [facts = '', path = ''] = splitOnce(line, '\t');
      const [mode = '', , id = ''] = facts.split(' ');
      const file = { mode, id, path };
      if (isWanted(file)) files.push(file);
    }
  }
  await list.done;
  return files;
}

function splitOnce(text: string, at: string): [string, string] {
  const place = text.indexOf(at);
  return [text.slice(0, place), text.slice(place + at.length)];
}
