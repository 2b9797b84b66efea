import { RECONNECTED, RequestFailed, send, toRequestFailed } from './read-server.ts';

interface StreamHandler<T> {
  onFrames: (frames: T[]) => void;
  onConnection: (isOpen: boolean) => void;
  onProblem: (problem: RequestFailed) => void;
}

/** Frames that arrive together are drawn once. */
const BATCH_MS = 40;
const RECONNECT_MS = 2_000;
/** Of a proxy, while the server behind it is away. */
const AWAY = [502, 503, 504];

/**
 * Reads a stream until the returned function is called. It connects again after a break, also through a proxy whose server is
 * away, and continues after the last frame.
 * An EventSource of the browser could not send the session of the page.
 */
export function openEvents<T>(path: string, handler: StreamHandler<T>): () => void {
  const stop = new AbortController();
  let batch: T[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const frames = batch;
    batch = [];
    handler.onFrames(frames);
  };
  const onFrame = (frame: T) => {
    batch.push(frame);
    timer ??= setTimeout(flush, BATCH_MS);
  };
  void follow(path, { ...handler, onFrame, signal: stop.signal });
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}

interface Follower<T> extends Omit<StreamHandler<T>, 'onFrames'> {
  onFrame: (frame: T) => void;
  signal: AbortSignal;
}

async function follow<T>(path: string, { onFrame, onConnection, onProblem, signal }: Follower<T>): Promise<void> {
  let last: string | undefined;
  let isBroken = false;
  for (;;) {
    try {
      const headers = { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last }) };
      const response = await send(path, { headers, signal, cache: 'no-store' });
      onConnection(true);
      if (isBroken) dispatchEvent(new Event(RECONNECTED));
      isBroken = false;
      for await (const { event, data, id } of readFrames(response)) {
        if (event === 'end') return;
        if (event === 'problem') return onProblem(new RequestFailed((JSON.parse(data) as { message: string }).message));
        last = id ?? last;
        onFrame(JSON.parse(data) as T);
      }
    } catch (error) {
      const problem = toRequestFailed(error);
      const isFinal = problem.status !== undefined && !AWAY.includes(problem.status);
      if (isFinal && !signal.aborted) return onProblem(problem);
    }
    if (signal.aborted) return;
    onConnection(false);
    isBroken = true;
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    if (signal.aborted) return;
  }
}

/** A frame of server-sent events, whose data is one line. */
interface Frame {
  event: string | undefined;
  data: string;
  id: string | undefined;
}

async function* readFrames({ body }: Response): AsyncGenerator<Frame> {
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let fields: Record<string, string> = {};
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [, name = '', text = ''] = /^(\w+): (.*)$/s.exec(line) ?? [];
        if (name !== '') fields[name] = text;
        if (line !== '') continue;
        if (fields.data !== undefined) yield { event: fields.event, data: fields.data, id: fields.id };
        fields = {};
      }
    }
  } finally {
    // The server stops sending.
    void reader.cancel().catch(() => undefined);
  }
}
