import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ALL_OPERATIONS } from '../../src/api/operations.ts';
import { pathKeys } from '../../src/api/operations/operation.ts';
import { describeTool } from '../../src/mcp/mcp-server.ts';
import { isDeciding, isReadOnly } from '../../src/mcp/tool.ts';
import { TOOLS, offeredTools } from '../../src/mcp/tools/all-tools.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Inputs of tools that no operation has, and what they are. */
const OWN_INPUTS = {
  halo_validate_prd: ['prd', 'path'],
  halo_estimate: ['prd', 'path'],
  halo_submit: ['prd', 'path'],
  halo_runs: ['status', 'repo', 'limit'],
  halo_inbox: ['limit'],
  halo_wait: ['seconds'],
  halo_logs: ['story', 'lines'],
  halo_diff: ['offset'],
} as Record<string, string[]>;

describe('the table of tools', () => {
  it('has about ten coarse tools, and one more for each operation that decides', () => {
    const always = offeredTools({ decide: false });
    expect(always.length).toBeGreaterThanOrEqual(8);
    const why = 'agents read all tools at each start: extend one of src/mcp/tools/, or raise this limit';
    expect(always.length, why).toBeLessThanOrEqual(13);
    const deciding = TOOLS.filter((tool) => !always.includes(tool));
    const operations = ALL_OPERATIONS.filter(({ decides }) => decides === true);
    expect(deciding.flatMap(({ uses }) => uses.map(({ name }) => name)).sort()).toEqual(
      operations.map(({ name }) => name).sort(),
    );
    expect(offeredTools({ decide: true })).toHaveLength(TOOLS.length);
  });

  it('is named completely where users decide whether to offer tools that decide', () => {
    const names = ALL_OPERATIONS.filter(({ decides }) => decides === true).map(({ name }) => name);
    const meaning = read('src/config/schema/server-table.ts');
    for (const text of [meaning, read('src/cli/commands/mcp.ts'), read('docs/mcp.md')])
      expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });

  it.each(TOOLS.map((tool) => [tool.name, tool] as const))('%s belongs to operations', (name, { uses }) => {
    expect(name).toMatch(/^halo_[a-z_]+$/);
    expect(uses.length).toBeGreaterThan(0);
    for (const operation of uses) expect(ALL_OPERATIONS).toContain(operation);
  });

  it.each(TOOLS.map((tool) => [tool.name, tool] as const))('%s has the fields of its operations', (name, tool) => {
    for (const [key, field] of Object.entries(tool.input.shape)) {
      if (OWN_INPUTS[name]?.includes(key)) continue;
      if (tool.uses.some((operation) => pathKeys(operation).includes(key))) continue;
      const theirs = tool.uses.flatMap(({ input }) => {
        const schema = input?.(z);
        return schema instanceof z.ZodObject && key in schema.shape ? [schema.shape[key] as z.ZodType] : [];
      });
      expect(theirs.length, `${name}.${key}`).toBeGreaterThan(0);
      expect(theirs.map(typeOf), `${name}.${key}`).toContain(typeOf(field as z.ZodType));
    }
  });

  it.each(TOOLS.map((tool) => [tool.name, tool] as const))('%s is annotated by its operations', (_name, tool) => {
    const changes = tool.uses.some(({ access }) => access !== 'read');
    const decides = tool.uses.some((operation) => operation.decides === true);
    const { annotations, description } = describeTool(tool);
    expect(annotations).toMatchObject({ readOnlyHint: !changes, destructiveHint: decides });
    expect(description.length).toBeGreaterThan(20);
  });

  it.each(TOOLS.map((tool) => [tool.name, tool] as const))('%s describes all of its inputs', (_name, { input }) => {
    const fields = z.toJSONSchema(input, { io: 'input' }).properties ?? {};
    const silent = Object.entries(fields).filter(([, field]) => typeof field !== 'object' || !field.description);
    expect(silent.map(([key]) => key)).toEqual([]);
  });

  it('has JSON Schemas of objects, which all clients read', () => {
    for (const tool of TOOLS) {
      const { inputSchema, outputSchema } = describeTool(tool);
      expect(z.toJSONSchema(inputSchema)).toMatchObject({ type: 'object', additionalProperties: false });
      expect(z.toJSONSchema(outputSchema)).toMatchObject({ type: 'object', properties: { notice: {} } });
    }
  });

  it('lets no tool change gates, budgets or other settings of an existing run', () => {
    const names = TOOLS.filter(({ input }) => 'set' in input.shape || 'yes' in input.shape).map(({ name }) => name);
    expect(names).toEqual(['halo_submit']);
  });
});

/** The JSON type of a field, whatever its limits, default and description. */
function typeOf(field: z.ZodType): unknown {
  const { type, pattern } = z.toJSONSchema(field, { io: 'input', unrepresentable: 'any' });
  return [type, pattern].join(' ');
}

describe('docs/mcp.md', () => {
  const page = read('docs/mcp.md');

  it('lists each tool with its inputs, whether it reads, changes or decides, and its operations', () => {
    const rows = page.split('\n').filter((line) => line.startsWith('| `halo_'));
    const cells = rows.map((row) =>
      row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
    const expected = TOOLS.map((tool) => [
      `\`${tool.name}\``,
      Object.keys(tool.input.shape)
        .map((key) => `\`${key}\``)
        .join(', '),
      isDeciding(tool) ? 'decides' : isReadOnly(tool) ? 'reads' : 'changes',
      tool.uses.map(({ name }) => `[${name}](api.md#${name.toLowerCase()})`).join(', '),
    ]);
    if (process.env.HALO_TEST_RECORD === '1') writeTable(expected);
    else expect(cells).toEqual(expected);
  });

  function writeTable(rows: string[][]): void {
    const table = [['tool', 'inputs', 'access', 'operations'], ['---', '---', '---', '---'], ...rows];
    const lines = table.map((cells) => `| ${cells.join(' | ')} |`);
    const text = page.replace(/^TABLE$|(?:^\|.*\n)+(?=\n- \*\*Waiting)/m, `${lines.join('\n')}\n`);
    writeFileSync(new URL('../../docs/mcp.md', import.meta.url), text);
  }
});
