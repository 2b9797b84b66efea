import { readJson, runPath } from '../../page/read-server.ts';

interface LogPage {
  total: number;
  lines: string[];
}

const PAGE_LINES = 500;
/** About 10 MB of usual lines. */
const MAX_PAGES = 200;

/** The path of a file of a run in the API. */
export function artifactUrl(
  runId: string,
  kind: 'artifacts' | 'log-lines' | 'log-matches' | 'log-changes',
  path: string,
) {
  return runPath(runId, `/${kind}/${path.split('/').map(encodeURIComponent).join('/')}`);
}

/** The parts of a log that are or were visible. */
export class LogPages {
  total = 0;
  readonly #pages = new Map<number, string[]>();
  readonly #loading = new Set<number>();
  readonly #runId: string;
  readonly #path: string;
  readonly #onChange: () => void;

  constructor(place: { runId: string; path: string }, onChange: () => void) {
    this.#runId = place.runId;
    this.#path = place.path;
    this.#onChange = onChange;
  }

  /** Undefined until it is loaded. */
  lineAt(index: number): string | undefined {
    return this.#pages.get(Math.floor(index / PAGE_LINES))?.[index % PAGE_LINES];
  }

  /** The log has grown: an unfinished last line may have changed. */
  grow(total: number): void {
    for (const page of this.#pages.keys())
      if (page >= Math.floor(Math.max(0, this.total - 1) / PAGE_LINES)) this.#pages.delete(page);
    this.total = total;
    this.#onChange();
  }

  /** Loads what is missing of a range. Throws RequestFailed. */
  async load(from: number, to: number): Promise<void> {
    const first = Math.floor(from / PAGE_LINES);
    const wanted = Array.from(
      { length: Math.floor(Math.max(from, to - 1) / PAGE_LINES) - first + 1 },
      (_, at) => first + at,
    );
    await Promise.all(wanted.map((page) => this.#loadPage(page)));
  }

  async #loadPage(page: number): Promise<void> {
    if (this.#pages.has(page) || this.#loading.has(page)) return;
    this.#loading.add(page);
    try {
      const lines: string[] = [];
      // A page of long lines needs several requests.
      for (let isWhole = false; !isWhole;) {
        const query = `?from=${page * PAGE_LINES + lines.length}&lines=${PAGE_LINES - lines.length}`;
        const part = await readJson<LogPage>(`${artifactUrl(this.#runId, 'log-lines', this.#path)}${query}`);
        lines.push(...part.lines);
        this.total = Math.max(this.total, part.total);
        isWhole = part.lines.length === 0 || lines.length >= PAGE_LINES;
      }
      this.#pages.set(page, lines);
      for (const old of this.#pages.keys()) if (this.#pages.size > MAX_PAGES) this.#pages.delete(old);
    } finally {
      this.#loading.delete(page);
      this.#onChange();
    }
  }
}
