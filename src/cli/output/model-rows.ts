import { describeKeyPause } from '../../core/failure/model-use.ts';
import { formatTime } from '../../core/text/format-elapsed.ts';
import { safeLine } from '../../core/text/safe-text.ts';
import type { RunView } from '../../api/operations/requests.ts';

const MAX_TEXT_LENGTH = 200;

/** Rows about the models of an open run: delayed requests, keys that are not used, and stories with another model. */
export function modelRows({ state }: Pick<RunView, 'state'>, now: string): [string, string][] {
  if (state.status === 'ended') return [];
  const keys = (state.keyPauses ?? []).filter(({ until }) => until > now);
  const others = state.stories.flatMap(({ id, progress, fallback }) =>
    progress !== 'in_progress' || fallback === undefined ? [] : [`${id} uses ${fallback.model}: ${fallback.why}`],
  );
  return [
    ...pauseRow({ state }, now),
    ...keys.map((each): [string, string] => ['key', safeLine(describeKeyPause(each, now), MAX_TEXT_LENGTH)]),
    ...others.map((text): [string, string] => ['model', safeLine(text, MAX_TEXT_LENGTH)]),
  ];
}

/** Shown while requests for a model are delayed. */
function pauseRow({ state }: Pick<RunView, 'state'>, now: string): [string, string][] {
  const { modelPause: pause } = state;
  // A story that waits for the model has a line of its own.
  const isShown = state.stories.some(({ waiting }) => waiting?.model !== undefined);
  if (pause === undefined || pause.until <= now || isShown) return [];
  const why = pause.why === 'rate' ? 'the configured rate is reached' : 'the provider asked for a pause';
  return [['waiting', `requests for ${safeLine(pause.model)} until ${formatTime(pause.until, now)}: ${why}`]];
}
