import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { OK, prdOf, scripted } from '../../support/halo/halo.ts';
import { openHome } from '../../support/halo/halo-process.ts';
import { HOLD, releaseUntil } from '../../support/halo/hold.ts';
import { readJournal } from '../../support/halo/read-journal.ts';
import { startAtTerminal } from '../../support/terminal/at-terminal.ts';
import { makeRepository } from '../../support/repository/repository.ts';

const LONG = { timeout: 200_000 };
const WAIT = { timeout: 150_000, interval: 200 };

/** A home, and a repository with a folder of PRDs. */
function openFolder(onTestFinished: (close: () => Promise<void>) => void) {
  const home = openHome();
  const repository = makeRepository();
  const folder = join(repository.root, 'prds');
  mkdirSync(folder);
  const write = (name: string, ids: string[]) =>
    writeFileSync(join(folder, name), prdOf(ids.map((id) => ({ id }))).bytes);
  onTestFinished(async () => {
    await home.close();
    repository.remove();
  });
  return {
    home,
    repository,
    folder,
    halo: (words: string[]) => home.halo(words, { cwd: repository.root }),
    done: () => (existsSync(join(folder, 'done')) ? readdirSync(join(folder, 'done')).sort() : []),
    /** Adds a PRD as if it had been there for a minute: a queue waits until a new file stays as it is. */
    add: (name: string, ...ids: string[]) => {
      write(name, ids);
      const before = Date.now() / 1_000 - 60;
      utimesSync(join(folder, name), before, before);
    },
    write,
  };
}

/** Also the line of a run that waits has the word `agent`. */
const untilAgentBegins = (home: string, runId: string) =>
  vi.waitFor(
    () =>
      expect(readJournal(home, runId)).toContainEqual(
        expect.objectContaining({ type: 'phase.started', phase: 'agent' }),
      ),
    WAIT,
  );

it.concurrent(
  'a folder of PRDs is run by a worker in the order of names, also after kill -9, and is watched',
  { timeout: 400_000 },
  async ({ onTestFinished }) => {
    const { home, repository, folder, add, write, done } = openFolder(onTestFinished);
    add('10-b.json', 'TEN');
    add('2-a.json', 'TWO');
    const settings = scripted(`grep -oE 'TWO|TEN|NEW' | head -n 1 >> order.txt; ${OK}`, ['true']).flatMap((pair) => [
      '-c',
      pair,
    ]);
    const at = { cwd: repository.root };
    const worker = home.start(['worker'], at);
    const killed = home.start(['queue', 'prds', ...settings], at);
    await vi.waitFor(() => expect(home.runIds()).not.toEqual([]), WAIT);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const watching = home.start(['queue', 'prds', '--watch', ...settings], at);
    await vi.waitFor(() => expect(done()).toEqual(['10-b.json', '2-a.json']), WAIT);
    write('1-new.json', ['NEW']);
    await vi.waitFor(() => expect(done()).toEqual(['1-new.json', '10-b.json', '2-a.json']), WAIT);
    watching.process.kill('SIGINT');
    await watching.ended;
    expect(home.runIds()).toHaveLength(3);
    const tips = repository
      .git('for-each-ref', '--sort=refname', '--format=%(refname:short)', 'refs/heads/halo')
      .split('\n');
    expect(tips).toHaveLength(3);
    expect(repository.git('show', `${tips.at(-1)}:order.txt`)).toBe('TWO\nTEN\nNEW');
    // A PRD is moved only after its stories were marked.
    for (const name of done()) expect(readFileSync(join(folder, 'done', name), 'utf8')).toContain('"passes":true');
    worker.process.kill('SIGTERM');
    await worker.ended;
  },
);

it.concurrent(
  'a folder of PRDs is run by the queue itself if no worker is running, and continued by the next queue after a stop',
  LONG,
  async ({ onTestFinished }) => {
    const { home, repository, halo, add, done } = openFolder(onTestFinished);
    add('1.json', 'ONE');
    add('2.json', 'TWO');
    const settings = scripted(`${HOLD}; grep -oE 'ONE|TWO' | head -n 1 >> order.txt; ${OK}`, ['true']).flatMap(
      (pair) => ['-c', pair],
    );
    const first = home.start(['queue', 'prds', ...settings], { cwd: repository.root });
    await first.says('no worker is running: this process executes the runs');
    const [runId = ''] = home.runIds();
    await untilAgentBegins(home.dir, runId);
    first.process.kill('SIGTERM');
    const stopped = await first.ended;
    expect(stopped.code, stopped.stderr).toBe(130);
    expect(stopped.stderr).toContain('the next `halo queue` repeats it');
    expect(done()).toEqual([]);
    const continued = halo(['queue', 'prds', ...settings]);
    await releaseUntil(
      () => home.runIds(),
      () => expect(done()).toEqual(['1.json', '2.json']),
    );
    const next = await continued;
    expect(next.code, next.stderr).toBe(0);
    expect(next.stderr).toContain('no worker is running: this process executes the runs');
    expect(next.stderr).toContain('2 done, 0 failed');
    expect(home.runIds()).toHaveLength(2);
    expect(home.runIds()[0]).toBe(runId);
    const [tip = ''] = repository
      .git('for-each-ref', '--sort=-refname', '--format=%(refname)', 'refs/heads/halo')
      .split('\n');
    expect(repository.git('show', `${tip}:order.txt`)).toBe('ONE\nTWO');
  },
);

it.concurrent(
  'a folder of PRDs at a terminal finishes the running story at Ctrl-C, and the next queue continues',
  LONG,
  async ({ onTestFinished }) => {
    const { home, repository, halo, add, done } = openFolder(onTestFinished);
    add('1.json', 'A', 'B');
    const agent = scripted(`test -e file.txt || { ${HOLD}; }; date +%N > file.txt; ${OK}`, ['true']).flatMap((pair) => [
      '-c',
      pair,
    ]);
    const at = { cwd: repository.root, env: { HALO_HOME: home.dir } };
    const queue = startAtTerminal(['queue', 'prds', ...agent], at);
    await queue.shows('this process executes the runs');
    const [runId = ''] = home.runIds();
    const status = async () => (await halo(['status', runId])).stdout;
    await untilAgentBegins(home.dir, runId);
    queue.press('\u0003');
    await queue.shows('stopping after A: no other story starts');
    let code: number | undefined;
    void queue.ended.then((ended) => (code = ended));
    // The phase of the agent begins before its sandbox is there.
    await releaseUntil(
      () => [runId],
      () => expect(code, queue.shown()).toBe(130),
    );
    expect(await status()).toMatch(/A +passed[^]*B +pending/);
    expect(await status()).not.toContain('paused');
    const next = await halo(['queue', 'prds', ...agent]);
    expect(next.code, next.stderr).toBe(0);
    expect(done()).toEqual(['1.json']);
    expect(home.runIds()).toEqual([runId]);
  },
);
