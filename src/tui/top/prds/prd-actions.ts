import type { Operations } from '../../../api/operations.ts';
import { isPrdName, NAME_RULE } from '../../../core/prd/prd-names.ts';
import { safeLine } from '../../../core/text/safe-text.ts';
import type { Action, PrdActionName } from '../actions.ts';
import { findListing, selectedIndex } from '../listing.ts';
import { currentTopView, newTopView, type TopState } from '../model.ts';
import { showRefusal } from '../navigate.ts';
import type { PrdEntry, PrdFiles } from './prd-files.ts';
import { findNewestRun, openStories } from './prd-listing.ts';
import { missingWorker } from '../../../view/waiting.ts';

/** The PRD of the selected row, or of the view. */
export function findPrd(state: TopState): PrdEntry | undefined {
  const place = currentTopView(state);
  if (place.view !== 'prds') return undefined;
  const listing = findListing(state);
  const path = listing?.rows[selectedIndex(listing, place)]?.prd ?? place.prd;
  return state.prds?.entries.find((entry) => entry.path === path);
}

/** Shows the stories of the selected PRD. */
export function openPrd(state: TopState): TopState {
  const entry = findPrd(state);
  return entry === undefined
    ? showRefusal(state, 'No PRD is selected.')
    : { ...state, stack: [...state.stack, { ...newTopView('prds'), prd: entry.path }] };
}

/** Asks for the confirmation or the name that an action needs, or starts it. */
export function planPrdAction(state: TopState, name: PrdActionName): TopState {
  if (name === 'create') return { ...state, inputLine: { kind: 'name', text: '' } };
  const entry = findPrd(state);
  if (entry === undefined) return showRefusal(state, 'No PRD is selected: 5 shows those of this repository.');
  const action: Action = { name, runId: '', prd: entry.path };
  if (name === 'edit')
    return entry.isNamed
      ? { ...state, acting: { ...action, text: entry.name } }
      : showRefusal(state, `${safeLine(entry.name, 60)} is not a named PRD: change the file in your editor.`);
  if (entry.problem !== undefined) return showRefusal(state, safeLine(entry.problem, 300));
  const open = openStories(entry);
  if (open.length === 0) return showRefusal(state, `No story of ${safeLine(entry.name, 60)} is open.`);
  const ids = open.slice(0, 3).map(({ id }) => safeLine(id, 20));
  const which = `${open.length} ${open.length === 1 ? 'story' : 'stories'} (${ids.join(', ')}${open.length > 3 ? ', …' : ''})`;
  const run = findNewestRun(state, entry);
  const active = run === undefined || run.status === 'ended' ? '' : ` Run ${run.runId} of it is still active.`;
  const agent = state.prds?.agent === undefined ? 'the agent of the server' : `agent ${safeLine(state.prds.agent, 20)}`;
  const repo = safeLine(state.prds?.repo ?? '', 60);
  const text = `Start ${safeLine(entry.name, 40)}: ${which} in ${repo}, ${agent}?${active}`;
  return { ...state, question: { action, text } };
}

/** The state after the name of a new PRD was entered. */
export function nameEntered(state: TopState, text: string): TopState {
  const name = text.trim();
  if (name === '') return state;
  if (!isPrdName(name)) return showRefusal(state, `Not a name of a PRD: use ${NAME_RULE}.`);
  return { ...state, acting: { name: 'create', runId: '', text: name } };
}

/** Executes an action and returns its result as a sentence. Throws what the operation or the file throws. */
export async function executePrdAction(
  operations: Operations,
  files: PrdFiles,
  { name, prd = '', text = '' }: Action & { name: PrdActionName },
): Promise<string> {
  switch (name) {
    case 'create':
      return `Created ${safeLine(await files.create(text), 200)}. e edits it.`;
    case 'edit':
      await files.edit(text);
      return `Edited ${safeLine(text)}.`;
    case 'submit': {
      const [file, { repo }] = await Promise.all([files.read(prd), files.list()]);
      const request = { prd: file, repos: [repo], profile: undefined, set: [], allowDirty: false };
      const [submitted] = (await operations.submit(request)).runs;
      const runId = submitted?.runId ?? '';
      const missing = missingWorker(await operations.getRun({ runId }));
      const warnings = submitted?.warnings.map((each) => ` Warning: ${each}`).join('') ?? '';
      return safeLine(`Started run ${runId}.${missing === undefined ? '' : ` But ${missing}.`}${warnings}`, 400);
    }
  }
}
