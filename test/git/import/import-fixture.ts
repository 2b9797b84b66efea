import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openMasker } from '../../../src/lib/secrets/masker.ts';
import { importTree, type ImportResult, type ImportRequest } from '../../../src/git/import/import-tree.ts';
import { mirrorPath, updateMirror } from '../../../src/git/mirror/mirror.ts';
import { addToView } from '../../../src/git/mirror/base-view.ts';
import { createScratch, viewPath } from '../../../src/git/repository/scratch-repo.ts';
import { makeRepo, run, runBytes, writeObject } from '../../support/repository/git-fixture.ts';
import { copyBaseAsync, headOf } from '../../support/repository/recorded-base.ts';
import { tempDir } from '../../support/temp-dir.ts';

export interface Entry {
  mode: string;
  name: string;
  id: string;
}

/** A mirror, a scratch folder, and an agent's repository in which anything can be built. */
export interface Workshop {
  home: string;
  source: string;
  agent: string;
  base: string;
  mirrorDir: string;
  scratchDir: string;
}

export async function makeWorkshop(files: Record<string, string> = { 'README.md': 'hi\n', 'src/a.ts': '1\n' }) {
  const home = tempDir();
  await copyBaseAsync(home, `workshop ${JSON.stringify(files)}`, async (first) => {
    const source = join(first, SOURCE);
    const commit = makeRepo(source, files);
    run(first, ['clone', '-q', source, 'agent']);
    const { dir: mirrorDir } = await updateMirror({ home: first, name: 'm', from: join(source, '.git'), commit });
    await openScratch({ mirrorDir, attemptId: 'att-1', commit });
  });
  const [source, mirrorDir] = [join(home, SOURCE), mirrorPath(home, 'm')];
  const scratchDir = join(home, 'repos/m/attempts/att-1');
  const agent = join(home, 'agent');
  return { home, source, agent, base: headOf(source), mirrorDir, scratchDir } satisfies Workshop;
}

const SOURCE = 'Quelle ä';

/** A scratch folder that sees a commit of the mirror. */
export async function openScratch({
  mirrorDir,
  attemptId,
  commit,
}: {
  mirrorDir: string;
  attemptId: string;
  commit: string;
}): Promise<string> {
  const scratchDir = await createScratch({ mirrorDir, attemptId });
  await addToView(viewPath(scratchDir), { mirrorDir, commit });
  return scratchDir;
}

/** The tree of the agent's files as they are now. */
export function snapshot({ agent }: Workshop, files: Record<string, string | Buffer> = {}): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(agent, path, '..'), { recursive: true });
    writeFileSync(join(agent, path), text);
  }
  run(agent, ['add', '-A', '-f']);
  return run(agent, ['write-tree']);
}

/** The agent's files become those of the base again. */
export function resetAgent({ agent, base }: Workshop): void {
  run(agent, ['read-tree', '--reset', '-u', base]);
  run(agent, ['clean', '-ffdqx']);
}

export function blob({ agent }: Workshop, content: string | Buffer): string {
  return writeObject(agent, 'blob', Buffer.from(content));
}

/** Writes a tree byte by byte: git itself would refuse most of them. */
export function rawTree({ agent }: Workshop, entries: Entry[]): string {
  const bytes = entries.map(({ mode, name, id }) =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]),
  );
  return writeObject(agent, 'tree', Buffer.concat(bytes));
}

/** The base's top entries and these. */
export function treeWith(shop: Workshop, entries: Entry[]): string {
  const lines = run(shop.agent, ['ls-tree', shop.base]).split('\n');
  const old = lines.map((line) => {
    const [facts = '', name = ''] = line.split('\t');
    const [mode = '', , id = ''] = facts.split(' ');
    return { mode: mode.replace(/^0/, ''), name, id };
  });
  const key = ({ mode, name }: Entry) => (mode === '40000' ? `${name}/` : name);
  return rawTree(
    shop,
    [...old, ...entries].sort((a, b) => Buffer.compare(Buffer.from(key(a)), Buffer.from(key(b)))),
  );
}

export function packOf(shop: Workshop, tree: string): Buffer {
  const thin = ['pack-objects', '--revs', '--thin', '--stdout', '-q'];
  return runBytes(shop.agent, thin, `${tree}\n^${shop.base}\n`);
}

/** `pack`: what the exporter printed instead of the pack of the tree. */
export function importFrom(
  shop: Workshop,
  tree: string,
  { pack = packOf(shop, tree), ...extra }: Partial<ImportRequest> & { pack?: Buffer } = {},
): Promise<ImportResult> {
  const { scratchDir, base } = shop;
  const packFile = join(scratchDir, 'export.pack');
  writeFileSync(packFile, pack);
  return importTree({ scratchDir, base, tree, packFile, masker: openMasker(), ...extra });
}
