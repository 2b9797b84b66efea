import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ShownSetting } from '../../api/operations/schemas.ts';
import { safeText } from '../../core/text/safe-text.ts';
import { ChoiceOfOne, EmptyState, Problem, TextTable } from '../page/page-parts.tsx';
import { readJson, useLoaded } from '../page/read-server.ts';

const SHOWN = [
  { value: 'changed', name: 'changed' },
  { value: 'all', name: 'all' },
] as const;

/** The settings of the server with their origins. */
export function SettingTable(): JSX.Element {
  const [shown, setShown] = useState<'changed' | 'all'>('changed');
  const [text, setText] = useState('');
  const { value, problem } = useLoaded('settings', () => readJson<{ settings: ShownSetting[] }>('/v1/settings'));
  const found = (value?.settings ?? []).filter(
    ({ key, origin }) => (shown === 'all' || origin !== 'default') && key.includes(text.trim().toLowerCase()),
  );
  return (
    <section aria-label="Configuration">
      <h2>Configuration</h2>
      <div class="tools filter">
        <ChoiceOfOne label="Settings" options={SHOWN} value={shown} onChange={setShown} />
        <input
          type="search"
          aria-label="Find settings"
          placeholder="Key"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      {problem !== undefined && <Problem problem={problem} />}
      {value !== undefined && found.length === 0 && (
        <EmptyState title={text === '' ? 'All settings have their default.' : 'No setting matches.'} />
      )}
      {found.length > 0 && (
        <TextTable name="Settings of the server" columns={['Key', 'Value', 'Origin']}>
          {found.map((setting) => (
            <tr key={setting.key}>
              <th scope="row">
                <code>{safeText(setting.key)}</code>
              </th>
              <td>
                <ValueText setting={setting} />
              </td>
              <td class="soft">{safeText(setting.origin)}</td>
            </tr>
          ))}
        </TextTable>
      )}
      <p class="soft">
        Repositories can change settings for their runs: <code>halo config show</code> in a repository shows them.
      </p>
    </section>
  );
}

function ValueText({ setting: { value, hidden } }: { setting: ShownSetting }): JSX.Element {
  if (hidden === true) return <span class="soft">hidden</span>;
  if (value === null || value === undefined) return <span class="soft">not set</span>;
  return <code>{safeText(typeof value === 'string' ? value : JSON.stringify(value))}</code>;
}
