import { safeLine } from '../safe-text.ts';

/** Hidden characters that a change adds to text files, and where. */
export interface HiddenPlaces {
  characters: number;
  lines: number;
  files: number;
  /** The first of the lines, as `path:line`. */
  places: string[];
}

const MOST_PLACES = 20;
const NAMED_PLACES = 5;

/** Adds up what is found line by line. */
export function collectHidden() {
  const paths = new Set<string>();
  const places: string[] = [];
  let [characters, lines] = [0, 0];
  return {
    /** `line` counts from 1. */
    add(path: string, line: number, count: number): void {
      paths.add(path);
      characters += count;
      lines += 1;
      if (places.length < MOST_PLACES) places.push(`${path}:${line}`);
    },
    /** Undefined when there is nothing. */
    all(): HiddenPlaces | undefined {
      return lines === 0 ? undefined : { characters, lines, files: paths.size, places };
    },
  };
}

/** For people, e.g. `3 hidden characters in 2 files: a.js:12, b.js:4`. */
export function hiddenText({ characters, lines, files, places }: HiddenPlaces): string {
  const what = `${characters} hidden ${characters === 1 ? 'character' : 'characters'}`;
  return `${what} in ${files} ${files === 1 ? 'file' : 'files'}: ${placesText(places, lines)}`;
}

/** The first places of `total`. */
export function placesText(places: readonly string[], total: number = places.length): string {
  const named = places.slice(0, NAMED_PLACES).map((place) => safeLine(place));
  return [...named, ...(total > named.length ? [`${total - named.length} more`] : [])].join(', ');
}
