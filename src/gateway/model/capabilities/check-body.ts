import type * as z from 'zod';
import { safeLine } from '../../../core/text/safe-text.ts';

/** Reduces a body to the fields that the schema accepts; otherwise returns a sentence about the first unsupported value. */
export function filterBody(
  schema: z.ZodType<Record<string, unknown>>,
  body: Record<string, unknown>,
): { body: Record<string, unknown> } | { reason: string } {
  const parsed = schema.safeParse(body);
  if (parsed.success) return { body: parsed.data };
  const rule = parsed.error.issues.find(({ code }) => code === 'custom');
  if (rule !== undefined) return { reason: `The gateway refuses the request: ${rule.message}.` };
  const issue = deepest(parsed.error.issues);
  return { reason: describeBodyIssue(body, issue.path) };
}

interface BodyIssue {
  path: PropertyKey[];
}

/** Finds the deepest issue: among the branches of a union, that is the intended one. */
function deepest(issues: readonly z.core.$ZodIssue[], prefix: PropertyKey[] = []): BodyIssue {
  const found = issues.map((issue): BodyIssue => {
    const path = [...prefix, ...issue.path];
    if (issue.code !== 'invalid_union') return { path };
    const inner = issue.errors.filter((branch) => branch.length > 0).map((branch) => deepest(branch, path));
    return inner.reduce((best, each) => (each.path.length > best.path.length ? each : best), { path });
  });
  return found.reduce((best, each) => (each.path.length > best.path.length ? each : best), found[0] ?? { path: [] });
}

function describeBodyIssue(body: unknown, path: readonly PropertyKey[]): string {
  const location = path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text === '' ? '' : '.'}${String(key)}`),
    '',
  );
  const value = path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined),
    body,
  );
  const shown = safeLine(show(value), 120);
  return `The request contains ${shown} at ${safeLine(location, 120)}, which the gateway does not accept.`;
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  return JSON.stringify(value)?.slice(0, 200) ?? typeof value;
}
