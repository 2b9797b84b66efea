import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { safeLine } from '../../core/text/safe-text.ts';
import { saveFile, toRequestFailed } from './read-server.ts';

/** Saves a file of the server under its own name. */
export function SaveButton({ path }: { path: string }): JSX.Element {
  const [problem, setProblem] = useState<string>();
  const save = async () => {
    setProblem(undefined);
    const name = decodeURIComponent(/([^/?]*)(?:\?.*)?$/.exec(path)?.[1] ?? '');
    await saveFile(path, name).catch((error: unknown) => setProblem(toRequestFailed(error).message));
  };
  return (
    <>
      <button type="button" class="link" onClick={() => void save()}>
        Download
      </button>
      {problem !== undefined && <span class="bad">{safeLine(problem)}</span>}
    </>
  );
}
