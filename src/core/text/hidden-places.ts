import { safeLine } from './safe-text.ts';

/** Hidden characters that a change adds to text files, and their locations. */
export interface HiddenPlaces {
  characters: number;
  lines: number;
  files: number;
  /** The first lines, as `path:line`. */
  places: string[];
}

const MAX_PLACES = 20;
const NAMED_PLACES = 5;

/** Sums up hidden characters line by line. */
export function collectHidden() {
  const paths = new Set<string>();
  const places: string[] = [];
  let [characters, lines] = [0, 0];
  let last = '';
  return {
    /** `line` counts from 1; a long line is added in parts. */
    add(path: string, line: number, count: number): void {
      paths.add(path);
      characters += count;
      const place = `${path}:${line}`;
      if (place === last) return;
      last = place;
      lines += 1;
      if (places.length < MAX_PLACES) places.push(place);
    },
    /** Undefined if none were added. */
    all(): HiddenPlaces | undefined {
      return lines === 0 ? undefined : { characters, lines, files: paths.size, places };
    },
  };
}

/** E.g. `3 hidden characters in 2 files: a.js:12, b.js:4`. */
export function describeHidden({ characters, lines, files, places }: HiddenPlaces): string {
  const what = `${characters} hidden ${characters === 1 ? 'character' : 'characters'}`;
  return `${what} in ${files} ${files === 1 ? 'file' : 'files'}: ${formatPlaces(places, lines)}`;
}

/** Formats the first places and the number of remaining ones of `total`. */
export function formatPlaces(places: readonly string[], total: number = places.length): string {
  const named = places.slice(0, NAMED_PLACES).map((place) => safeLine(place));
  return [...named, ...(total > named.length ? [`${total - named.length} more`] : [])].join(', ');
}
