import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { HaloError } from '../../core/failure/errors.ts';
import { findHeadingSection } from '../../core/text/heading-section.ts';
import { findUnignoredFolders } from '../../git/repository/inspect-repo.ts';
import { isInside, readRegularFile } from '../../lib/fs.ts';
import { MAX_PRD_BYTES } from '../../prd/decode-prd.ts';
import { parsePrd } from '../../prd/parse-prd.ts';

/** What a project of swanson has that halo can use. Paths are relative to the top of the repository. */
export interface SwansonProject {
  standards?: string;
  /** The section of the standards that is about tests. */
  testStandards?: string;
  vision?: string;
  /** The folder with its PRDs, and how many of them have open stories. */
  queue?: { folder: string; open: number };
}

const OWN_FOLDER = '.swanson';
const QUEUE = 'prds';
const TEST_HEADING = 'Testing Standards';
const MAX_TEXT = 256 * 1024;
const MAX_PRDS = 100;

/** Undefined if a repository has neither the folder of swanson nor a PRD of its dialect in `prds`. Files are only read. */
export async function findSwanson(root: string): Promise<SwansonProject | undefined> {
  const queue = await findQueue(root);
  const hasFolder = (await readdir(join(root, OWN_FOLDER)).catch(() => undefined)) !== undefined;
  if (queue === undefined && !hasFolder) return undefined;
  // Prompts contain only what is committed.
  const [own] = hasFolder ? await findUnignoredFolders(root, [OWN_FOLDER]) : [];
  const places = [...(own === undefined ? [] : [`${own}/`]), ''];
  const project: SwansonProject = queue === undefined ? {} : { queue };
  for (const place of places) {
    const standards = `${place}standards.md`;
    const text = project.standards === undefined ? await readText(root, standards, MAX_TEXT) : undefined;
    if (text !== undefined) {
      project.standards = standards;
      if (findHeadingSection(text, TEST_HEADING) !== undefined) project.testStandards = `${standards}#${TEST_HEADING}`;
    }
    const vision = `${place}product-vision.md`;
    if (project.vision === undefined && (await readText(root, vision, MAX_TEXT)) !== undefined) project.vision = vision;
  }
  return project;
}

async function findQueue(root: string): Promise<SwansonProject['queue']> {
  const names = await readdir(join(root, QUEUE)).catch(() => []);
  let open: number | undefined;
  for (const name of names.filter((each) => each.endsWith('.json')).slice(0, MAX_PRDS)) {
    const path = `${QUEUE}/${name}`;
    const text = await readText(root, path, MAX_PRD_BYTES);
    try {
      const { dialect, stories } = parsePrd(Buffer.from(text ?? ''), path);
      if (dialect !== 'swanson') continue;
      open = (open ?? 0) + (stories.some(({ status }) => status === 'pending' || status === 'in_progress') ? 1 : 0);
    } catch (error) {
      if (!(error instanceof HaloError)) throw error;
    }
  }
  return open === undefined ? undefined : { folder: QUEUE, open };
}

/** Undefined for what is missing, not a regular file, too large, or outside of the repository. */
async function readText(root: string, path: string, most: number): Promise<string | undefined> {
  const file = join(root, path);
  if (!(await isInside(root, file).catch(() => false))) return undefined;
  return readRegularFile(file, most).then(
    (bytes) => bytes.toString('utf8'),
    () => undefined,
  );
}

/** The settings with which halo works as swanson does. `gates`: how the project runs pytest, if it does. */
export function swansonSettings(
  { standards, testStandards, vision }: SwansonProject,
  gates: readonly string[],
): [key: string, value: unknown][] {
  const pytest = gates.flatMap((gate) => /^(.*?\bpytest)\b/.exec(gate)?.[1] ?? [])[0];
  return [
    ...(pytest === undefined
      ? []
      : ([
          ['tests.first', 'on'],
          ['tests.command', `${pytest} -q --junit-xml=report.xml {files}`],
          ['tests.files', ['tests/test_{id}.py']],
          ['tests.reports', ['report.xml']],
        ] as [string, unknown][])),
    ...(standards === undefined ? [] : ([['prompt.standards', [standards]]] as [string, unknown][])),
    ...(testStandards === undefined ? [] : ([['prompt.test_standards', [testStandards]]] as [string, unknown][])),
    ...(vision === undefined ? [] : ([['prompt.vision', vision]] as [string, unknown][])),
    ['prompt.prd', 'whole'],
    ['prd.criteria', 'required'],
    ['git.message', '{type}: {title_lower} ({id})'],
    ['retry.attempts', 1],
    ['retry.tests.retries', 0],
    ['retry.policy.retries', 0],
  ];
}
