import { fieldEntry } from './field-entry.ts';
import { leafTexts } from './story-details.ts';
import type { Story } from './prd.ts';

/** What a story says about its size and place, as far as it has such fields. */
export interface StoryMeasures {
  /** In lower case. */
  labels: string[];
  /** Paths of files. */
  paths: string[];
  /** Words such as `xl` or `simple`, in lower case. */
  sizes: string[];
  points: number | undefined;
  criteria: number;
}

const NAMES: Record<string, 'labels' | 'paths' | 'sizes' | 'points'> = {
  ...{ labels: 'labels', label: 'labels', tags: 'labels', tag: 'labels' },
  ...{ files: 'paths', file: 'paths', paths: 'paths', path: 'paths' },
  ...{ size: 'sizes', complexity: 'sizes' },
  ...{ points: 'points', storypoints: 'points', estimate: 'points' },
};

const MAX_VALUES = 100;

/** Reads the fields by which routes select stories. */
export function measuresOf({ extra, acceptance }: Pick<Story, 'extra' | 'acceptance'>): StoryMeasures {
  const found: Record<'labels' | 'paths' | 'sizes' | 'points', string[]> = {
    labels: [],
    paths: [],
    sizes: [],
    points: [],
  };
  for (const [key, value] of Object.entries(extra)) {
    const name = fieldEntry(NAMES, key);
    if (name !== undefined) found[name].push(...valuesOf(value));
  }
  const lower = (texts: string[]) => texts.map((text) => text.toLowerCase());
  const points = found.points.map(Number).find((number) => Number.isFinite(number));
  return {
    labels: lower(found.labels),
    paths: found.paths,
    sizes: lower(found.sizes),
    points,
    criteria: acceptance.length,
  };
}

/** The texts of a list, or of one text with commas or lines. */
function valuesOf(value: unknown): string[] {
  const texts = typeof value === 'number' ? [String(value)] : leafTexts(value);
  return texts
    .flatMap((text) => text.slice(0, 10_000).split(/[,\n]/))
    .map((text) =>
      text
        .trim()
        .replace(/^[-*] /, '')
        .replace(/^`(.*)`$/, '$1')
        .replace(/^\.\//, ''),
    )
    .filter((text) => text !== '')
    .slice(0, MAX_VALUES);
}
