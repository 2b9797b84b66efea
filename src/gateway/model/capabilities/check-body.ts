import type * as z from 'zod';
import { safeLine } from '../../../core/safe-text.ts';

/** Takes a body apart and makes it anew of what the schema lets through; else says in a sentence what it does not. */
export function checkBody(
  schema: z.ZodType<Record<string, unknown>>,
  body: Record<string, unknown>,
): { body: Record<string, unknown> } | { reason: string } {
  const parsed = schema.safeParse(body);
  if (parsed.success) return { body: parsed.data };
  const rule = parsed.error.issues.find(({ code }) => code === 'custom');
  if (rule !== undefined) return { reason: `The request is not let through: ${rule.message}.` };
  const issue = deepest(parsed.error.issues);
  return { reason: describe(body, issue.path) };
}

interface Finding {
  path: PropertyKey[];
}

/** Where reading came farthest: of a union's branches, that is the one that was meant. */
function deepest(issues: readonly z.core.$ZodIssue[], prefix: PropertyKey[] = []): Finding {
  const found = issues.map((issue): Finding => {
    const path = [...prefix, ...issue.path];
    if (issue.code !== 'invalid_union') return { path };
    const inner = issue.errors.filter((branch) => branch.length > 0).map((branch) => deepest(branch, path));
    return inner.reduce((best, each) => (each.path.length > best.path.length ? each : best), { path });
  });
  return found.reduce((best, each) => (each.path.length > best.path.length ? each : best), found[0] ?? { path: [] });
}

function describe(body: unknown, path: readonly PropertyKey[]): string {
  const place = path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text === '' ? '' : '.'}${String(key)}`),
    '',
  );
  const value = path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined),
    body,
  );
  const shown = safeLine(show(value), 120);
  return `The request holds ${shown} at ${safeLine(place, 120)}, which the gateway does not let through.`;
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  return JSON.stringify(value)?.slice(0, 200) ?? typeof value;
}
