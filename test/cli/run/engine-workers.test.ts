import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { EngineWorkers } from '../../../src/cli/run/engine-workers.ts';
import { HaloError } from '../../../src/core/failure/errors.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Workers of engines without processes, and what was said about them. */
function open(first: Record<string, string>) {
  let wanted: Record<string, string> | undefined = first;
  const running = new Map<string, (why: string) => void>();
  const said: string[] = [];
  const started: string[] = [];
  const workers = new EngineWorkers({
    readEngines: () =>
      wanted === undefined
        ? Promise.reject(new HaloError('CONFIG_INVALID', 'line 3 is wrong.'))
        : Promise.resolve(new Map(Object.entries(wanted))),
    start(engine) {
      started.push(engine);
      const ended = new Promise<string>((resolve) => running.set(engine, resolve));
      void ended.then(() => running.delete(engine));
      return { stop: () => running.get(engine)?.('exit code 0'), ended };
    },
    say: (line) => void said.push(line),
    now: () => Date.now(),
  });
  return {
    workers,
    said,
    started,
    running: () => [...running.keys()],
    end: (engine: string) => running.get(engine)?.('exit code 5'),
    set: (value: Record<string, string> | undefined) => void (wanted = value),
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms),
  };
}

test('each engine of config.toml has one worker, also after changes of the file', async () => {
  const { workers, running, said, set, pass } = open({ a: '1', b: '1' });
  await pass(0);
  expect(running()).toEqual(['a', 'b']);
  set({ b: '2', c: '1' });
  await pass(2_000);
  expect(running()).toEqual(['c']);
  await pass(2_000);
  expect(running()).toEqual(['c', 'b']);
  expect(said).toEqual([
    'engine a: starting its worker',
    'engine b: starting its worker',
    'engine a: stopping its worker, because config.toml has no such engine any more',
    'engine b: stopping its worker, because its settings have changed',
    'engine c: starting its worker',
    'engine b: starting its worker',
  ]);
  await workers.close();
  expect(running()).toEqual([]);
});

test('a worker that ends starts again, and this is said once', async () => {
  const { workers, started, said, end, pass } = open({ a: '1' });
  await pass(0);
  for (let turn = 0; turn < 5; turn++) {
    end('a');
    await pass(20_000);
  }
  expect(started.length).toBe(6);
  expect(said).toEqual([
    'engine a: starting its worker',
    'engine a: its worker ended (exit code 5); it starts again in 1.0s',
  ]);
  await workers.close();
});

test('while config.toml is not valid, workers stay as they are', async () => {
  const { workers, running, said, set, pass } = open({ a: '1' });
  await pass(0);
  set(undefined);
  await pass(10_000);
  expect(running()).toEqual(['a']);
  expect(said.slice(1)).toEqual([
    'config.toml cannot be read, so the workers of engines stay as they are: line 3 is wrong.',
  ]);
  await workers.close();
});
