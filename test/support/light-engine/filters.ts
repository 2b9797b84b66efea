import { ApiError } from './api.ts';

interface Listed {
  Labels: Record<string, string> | null;
  Names?: string[];
  Name?: string;
  Mounts?: { Name?: string | undefined; Destination: string }[];
}

/** `filters` is a map of lists, or of maps to true, as clients of different age write it. */
export function readFilters(query: URLSearchParams): Record<string, string[]> {
  const filters = JSON.parse(query.get('filters') ?? '{}') as Record<string, string[] | Record<string, boolean>>;
  return Object.fromEntries(
    Object.entries(filters).map(([name, values]) => [name, Array.isArray(values) ? values : Object.keys(values)]),
  );
}

/** By label, by a part of the name, and by a mounted volume or its place. Throws 501 for other filters. */
export function filterRows<T extends Listed>(rows: T[], query: URLSearchParams): T[] {
  const { label = [], name = [], volume = [], ...others } = readFilters(query);
  if (Object.keys(others).length > 0) throw new ApiError(501, `no filters by ${Object.keys(others).join(', ')}`);
  return rows.filter(({ Labels, Names, Name, Mounts = [] }) => {
    const isLabelled = label.every((wanted) => {
      const [key = '', ...value] = wanted.split('=');
      const has = Labels?.[key];
      return has !== undefined && (value.length === 0 || has === value.join('='));
    });
    const hasVolume =
      volume.length === 0 || Mounts.some((mount) => volume.some((v) => [mount.Name, mount.Destination].includes(v)));
    const names = Names ?? [Name ?? ''];
    return (
      isLabelled && hasVolume && (name.length === 0 || name.some((part) => names.some((each) => each.includes(part))))
    );
  });
}
