/** A story of the graph, in the order of the PRD. */
interface GraphStory {
  id: string;
  dependsOn: readonly string[];
}

/** Where a story is, in px. */
interface PlacedStory {
  id: string;
  x: number;
  y: number;
}

interface GraphLayout {
  nodes: PlacedStory[];
  /** `path` is the `d` of an SVG path. */
  edges: { from: string; to: string; path: string }[];
  width: number;
  height: number;
}

/** The size of a story, and the space between two. */
export const NODE = { width: 190, height: 46, gapX: 56, gapY: 14 };

/**
 * Places stories in columns: each to the right of those that it depends on, and near their rows. A dependency that follows
 * from others has no edge. Unknown ids and cycles do no harm.
 */
export function layOutGraph(stories: readonly GraphStory[]): GraphLayout {
  const needs = keepDirect(toNeeds(stories));
  const columns = toColumns(stories, needs);
  const rows = new Map<string, number>();
  for (const column of columns) placeColumn(column, needs, rows);
  const nodes = columns.flatMap((column, at) =>
    column.map((id) => ({ id, x: at * (NODE.width + NODE.gapX), y: (rows.get(id) ?? 0) * (NODE.height + NODE.gapY) })),
  );
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edges = [...needs].flatMap(([to, from]) =>
    from.flatMap((id) => {
      const [start, end] = [byId.get(id), byId.get(to)];
      return start === undefined || end === undefined ? [] : [{ from: id, to, path: pathBetween(start, end) }];
    }),
  );
  return {
    nodes,
    edges,
    width: Math.max(0, ...nodes.map(({ x }) => x + NODE.width)),
    height: Math.max(0, ...nodes.map(({ y }) => y + NODE.height)),
  };
}

type Needs = Map<string, string[]>;

/** The dependencies of each story, without unknown ones and those that close a cycle. */
function toNeeds(stories: readonly GraphStory[]): Needs {
  const given = new Map(stories.map(({ id, dependsOn }) => [id, dependsOn]));
  const needs: Needs = new Map(stories.map(({ id }) => [id, []]));
  for (const { id } of stories)
    for (const need of new Set(given.get(id)))
      if (given.has(need) && !reaches(needs, need, id)) needs.get(id)?.push(need);
  return needs;
}

/** Whether a story is or depends on another one, directly or not. */
function reaches(needs: Needs, from: string, to: string, without?: string): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === to) return true;
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...(needs.get(id) ?? []).filter((need) => need !== without));
  }
  return false;
}

function keepDirect(needs: Needs): Needs {
  return new Map(
    [...needs].map(([id, list]) => [
      id,
      list.filter((need) => !list.some((other) => other !== need && reaches(needs, other, need))),
    ]),
  );
}

/** The longest way to a story is its column. */
function toColumns(stories: readonly GraphStory[], needs: Needs): string[][] {
  const depths = new Map<string, number>();
  const open = stories.map(({ id }) => id).reverse();
  for (let id = open.at(-1); id !== undefined; id = open.at(-1)) {
    const waiting = (needs.get(id) ?? []).filter((need) => !depths.has(need));
    if (waiting.length > 0) {
      open.push(...waiting);
      continue;
    }
    depths.set(id, Math.max(-1, ...(needs.get(id) ?? []).map((need) => depths.get(need) ?? 0)) + 1);
    open.pop();
  }
  const columns: string[][] = [];
  for (const { id } of stories) (columns[depths.get(id) ?? 0] ??= []).push(id);
  // Stories without any dependency below those that have some.
  const used = new Set([...needs].flatMap(([id, list]) => (list.length > 0 ? [id, ...list] : [])));
  columns[0]?.sort((a, b) => Number(used.has(b)) - Number(used.has(a)));
  return columns;
}

/** Gives each story of a column the row nearest to those that it depends on. */
function placeColumn(column: readonly string[], needs: Needs, rows: Map<string, number>): void {
  const wanted = column.map((id, index) => {
    const list = needs.get(id) ?? [];
    const sum = list.reduce((total, need) => total + (rows.get(need) ?? 0), 0);
    return { id, row: list.length === 0 ? index : sum / list.length };
  });
  let next = 0;
  for (const { id, row } of wanted.sort((a, b) => a.row - b.row)) {
    rows.set(id, Math.max(next, row));
    next = Math.max(next, row) + 1;
  }
}

function pathBetween(start: PlacedStory, end: PlacedStory): string {
  const [x1, y1] = [start.x + NODE.width, start.y + NODE.height / 2];
  const [x2, y2] = [end.x, end.y + NODE.height / 2];
  const bend = NODE.gapX / 2;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
