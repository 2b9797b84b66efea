import type { Env } from '../../../config/environment/host.ts';
import { sleep } from '../../../lib/async.ts';
import { chooseTask, describeHuman } from './choose-task.ts';
import { resolvePlaces, type Places, type Where } from './task-paths.ts';
import { resolveTaskAgent, startTaskAgent } from './task-agent.ts';
import { readTasks } from './tasks-file.ts';

interface LoopOptions extends Where {
  assignee: string;
  /** Default: the variable TASK_AGENT_BIN, otherwise `halo task`. */
  taskAgent: string | undefined;
  /** Delay between two cycles. */
  delayMs: number;
  /** Maximum number of invocations of the task agent; 0: unlimited. */
  most: number;
}

interface LoopWorld {
  env: Env;
  log: (line: string) => Promise<void>;
  /** Calls the listener when the loop must stop; `passOn`: the task agent must be notified. Returns a function that ends this. */
  onStop(listener: (stop: { signal: NodeJS.Signals; passOn: boolean }) => void): () => void;
}

const INTERRUPTED = 130;

/** Runs the task agent for one task after another and returns the exit code. */
export async function runLoop(options: LoopOptions, world: LoopWorld): Promise<number> {
  const places = await resolvePlaces(options);
  const named = options.taskAgent ?? (world.env['TASK_AGENT_BIN'] || undefined);
  const agent = await resolveTaskAgent(named, {
    cwd: options.cwd,
    workspace: places.workspace,
    env: world.env,
  });
  const stopping = new AbortController();
  let tell: ((signal: NodeJS.Signals) => void) | undefined;
  const off = world.onStop(({ signal, passOn }) => {
    stopping.abort();
    if (!passOn || tell === undefined) return;
    void world.log('stopping: waiting for the task agent to end');
    tell(signal);
  });
  const invoke = async (taskId: string) => {
    const running = startTaskAgent(agent, flagsOf(taskId, { places, assignee: options.assignee }), places.workspace);
    tell = (signal) => running.kill(signal);
    const code = await running.ended;
    tell = undefined;
    return stopping.signal.aborted ? INTERRUPTED : code;
  };
  try {
    await world.log(`tasks ${places.tasks}, prompt ${places.prompt}`);
    return await cycle({ options, places, invoke, signal: stopping.signal, log: world.log });
  } finally {
    off();
  }
}

interface Cycling {
  options: LoopOptions;
  places: Places;
  invoke: (taskId: string) => Promise<number>;
  signal: AbortSignal;
  log: LoopWorld['log'];
}

async function cycle({ options, places, invoke, signal, log }: Cycling): Promise<number> {
  for (let count = 1; ; count += 1) {
    const choice = chooseTask(await readTasks(places.tasks));
    if (choice.kind === 'none') {
      await log('stopped: no runnable task');
      return 0;
    }
    if (choice.kind === 'human') {
      await log(`stopped: human input required, ${describeHuman(choice.task, places.tasks)}`);
      return 4;
    }
    await log(`cycle ${count}: ${choice.task.id}`);
    const step = judgeExit(await invoke(choice.task.id));
    if (step.kind === 'stop') {
      await log(`stopped: ${step.say}`);
      return step.exit;
    }
    if (step.say !== undefined) await log(step.say);
    if (count === options.most) {
      await log(`stopped: the limit of ${options.most} ${options.most === 1 ? 'cycle' : 'cycles'} is reached`);
      return 0;
    }
    const hasNext = chooseTask(await readTasks(places.tasks)).kind === 'task';
    if (hasNext) await sleep(options.delayMs, signal);
    if (signal.aborted) {
      await log('stopped: interrupted');
      return INTERRUPTED;
    }
  }
}

function flagsOf(taskId: string, { places, assignee }: { places: Places; assignee: string }): string[] {
  const { tasks, prompt, workspace } = places;
  return ['--tasks', tasks, '--task-id', taskId, '--workspace', workspace, '--prompt', prompt, '--assignee', assignee];
}

/** The next step of the loop after a task agent has ended; `exit` is the exit code of the loop. */
type ExitDecision = { kind: 'continue'; say?: string } | { kind: 'stop'; say: string; exit: number };

/** Interprets the exit code of any task agent. */
function judgeExit(code: number): ExitDecision {
  if (code === 0) return { kind: 'continue' };
  if (code > 11 && code !== 130)
    return { kind: 'continue', say: `the task agent ended with ${code}: not completed, continuing` };
  const stop = (say: string, exit = code): ExitDecision => ({ kind: 'stop', say, exit });
  switch (code) {
    case 3:
      return stop('no runnable task', 0);
    case 4:
      return stop('human input required');
    case 5:
      return stop('a dependency is missing');
    case 6:
      return stop('the task cannot start or land');
    case 10:
      return stop('blocked: the task gave no result');
    case 11:
      return stop('blocked: the task was tried as often as it may be');
    case 130:
      return stop('interrupted');
    default:
      return stop(`the task agent failed with ${code}`);
  }
}
