import { basename, extname } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import { listToStories, type ListedStory } from '../../prd/markdown/list-to-stories.ts';
import { parsePrd } from '../../prd/parse-prd.ts';
import { decodeDocument } from './decode-document.ts';
import { openTarget } from './import-target.ts';

/** A document whose lists become a PRD without an agent. */
interface ListImportRequest {
  /** The document: its path and its bytes. */
  path: string;
  bytes: Uint8Array;
  /** The absolute path of the PRD to create. */
  out: string;
  /** The user's working folder. */
  folder: string;
}

interface ListImport {
  stories: (ListedStory & { id: string })[];
  /** Writes the PRD. Throws PRD_UNREADABLE, DISK_FAILED. */
  save(): Promise<void>;
}

/**
 * Turns the lists of a document into a PRD, named after its file. Throws PRD_UNREADABLE if it is not a text file or the PRD
 * cannot be written, USAGE if the PRD exists, PRD_INVALID if there is no item.
 */
export async function importList({ path, bytes, out, folder }: ListImportRequest): Promise<ListImport> {
  const text = decodeDocument(path, bytes);
  const target = await openTarget(out, folder);
  if (target.before !== undefined)
    throw new HaloError('USAGE', `${out} exists.`, { hint: 'Name another file with --out, or remove it first.' });
  const stories = listToStories(text).map((story, index) => ({ id: idOf(index), ...story }));
  if (stories.length === 0)
    throw new HaloError('PRD_INVALID', `${path} has no item of a list.`, {
      hint: 'Write each task on a line of its own, e.g. "- Add the cart", or let an agent read it: leave out --list.',
    });
  const prd = `${JSON.stringify({ project: projectOf(path), userStories: stories.map(toStory) }, null, 2)}\n`;
  // What is written is what `halo run` accepts.
  parsePrd(new TextEncoder().encode(prd), out);
  return { stories, save: () => target.save(prd) };
}

function idOf(index: number): string {
  return `US-${String(index + 1).padStart(3, '0')}`;
}

function projectOf(path: string): string {
  return path === '-' ? 'project' : safeLine(basename(path, extname(path)), 200) || 'project';
}

function toStory({ id, title, priority, done }: ListedStory & { id: string }) {
  return { id, title, description: title, acceptanceCriteria: [title], priority, passes: done };
}
