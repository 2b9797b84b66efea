import type { JSX } from 'preact';
import { AGENT_IDS } from '../../core/agent.ts';

/** Options of a submit as they are typed; '' and false: the configuration decides. */
export interface TypedOptions {
  agent: string;
  model: string;
  landing: string;
  profile: string;
  priority: string;
  stories: string;
  /** `key=value`, one per line. */
  settings: string;
  dryRun: boolean;
  allowDirty: boolean;
  withoutGates: boolean;
}

export const NO_OPTIONS: TypedOptions = {
  ...{ agent: '', model: '', landing: '', profile: '', priority: '', stories: '', settings: '' },
  ...{ dryRun: false, allowDirty: false, withoutGates: false },
};

const LANDINGS = {
  branch: 'keep it on its branch',
  ff: 'fast-forward',
  worktree: 'into the worktree',
  pr: 'pull request',
};

/** These options in the form of `POST /v1/runs`. */
export function toSubmitOptions(options: TypedOptions): object {
  const lines = (text: string, separator: RegExp) =>
    text
      .split(separator)
      .map((part) => part.trim())
      .filter((part) => part !== '');
  const setting = (key: string, value: string) => (value.trim() === '' ? [] : [`${key}=${value.trim()}`]);
  const stories = lines(options.stories, /[\s,]+/);
  return {
    set: [
      ...setting('agent', options.agent),
      ...setting('model.name', options.model),
      ...setting('land.mode', options.landing),
      ...lines(options.settings, /\n/),
    ],
    allowDirty: options.allowDirty,
    ...(options.profile.trim() !== '' && { profile: options.profile.trim() }),
    ...(options.priority.trim() !== '' && { priority: Number(options.priority) }),
    ...(stories.length > 0 && { stories }),
    ...(options.dryRun && { dryRun: true }),
    ...(options.withoutGates && { withoutGates: true }),
  };
}

interface SubmitOptionsProps {
  options: TypedOptions;
  onChange: (options: TypedOptions) => void;
}

/** The options of a submit. */
export function SubmitOptionsForm({ options, onChange }: SubmitOptionsProps): JSX.Element {
  const text = (key: 'model' | 'profile' | 'stories', label: string, placeholder: string) => (
    <label>
      {label}
      <input
        type="text"
        placeholder={placeholder}
        value={options[key]}
        onInput={({ currentTarget }) => onChange({ ...options, [key]: currentTarget.value })}
      />
    </label>
  );
  const check = (key: 'dryRun' | 'allowDirty' | 'withoutGates', label: string) => (
    <label class="check">
      <input
        type="checkbox"
        checked={options[key]}
        onChange={({ currentTarget }) => onChange({ ...options, [key]: currentTarget.checked })}
      />{' '}
      {label}
    </label>
  );
  const select = (key: 'agent' | 'landing', label: string, values: readonly (readonly [string, string])[]) => (
    <label>
      {label}
      <select
        value={options[key]}
        onChange={({ currentTarget }) => onChange({ ...options, [key]: currentTarget.value })}
      >
        <option value="">as configured</option>
        {values.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
  const changed = Object.keys(NO_OPTIONS).filter(
    (key) => options[key as keyof TypedOptions] !== NO_OPTIONS[key as keyof TypedOptions],
  );
  return (
    <details class="card options">
      <summary>
        Options <span class="soft">{changed.length > 0 ? `${changed.length} set` : 'as configured'}</span>
      </summary>
      <div class="fields">
        {select(
          'agent',
          'Agent',
          AGENT_IDS.map((id) => [id, id]),
        )}
        {text('model', 'Model', 'as configured')}
        {select('landing', 'Landing', Object.entries(LANDINGS))}
        {text('profile', 'Profile', 'none')}
        <label>
          Priority
          <input
            type="number"
            placeholder="0; lower values run first"
            value={options.priority}
            onInput={({ currentTarget }) => onChange({ ...options, priority: currentTarget.value })}
          />
        </label>
        {text('stories', 'Only these stories', 'all')}
      </div>
      <label>
        Settings, one per line
        <textarea
          rows={3}
          spellcheck={false}
          placeholder="retry.attempts=2"
          value={options.settings}
          onInput={({ currentTarget }) => onChange({ ...options, settings: currentTarget.value })}
        />
      </label>
      <div class="line">
        {check('dryRun', 'Dry run: agents only describe what they would change')}
        {check('allowDirty', 'Accept uncommitted changes, which are not part of the run')}
        {check('withoutGates', 'Without gates, the report of the agent decides')}
      </div>
    </details>
  );
}
