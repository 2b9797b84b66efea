import * as z from 'zod';
import { ALL_OPERATIONS } from '../../api/operations.ts';
import { pathKeys, type AnyOperation, type OperationTool } from '../../api/operations/operation.ts';
import { landedSchema } from '../../api/operations/schemas.ts';
import { isDeciding, outputOf, RUN_REFERENCE, type Tool, type ToolOperations } from '../tool.ts';
import { diffTool, filesTool, logsTool } from './output-tools.ts';
import { estimateTool, submitTool, validateTool } from './prd-tools.ts';
import { inboxTool, listTool, statusTool, waitTool } from './run-tools.ts';

/** A decision on a story or on a run. */
const decided = z.object({
  story: z.string().optional(),
  runId: z.string().optional(),
  changed: z.boolean().describe('False: it already had this decision.'),
  commit: z.string().optional(),
  tip: z.string().optional(),
  landed: z.union([z.boolean(), landedSchema(z)]).optional(),
  goesOn: z.boolean().optional().describe('Whether a worker has something left to do.'),
});

/** Every tool, in the order of docs/mcp.md. */
export const TOOLS: readonly Tool[] = [
  validateTool,
  estimateTool,
  submitTool,
  listTool,
  inboxTool,
  statusTool,
  waitTool,
  logsTool,
  diffTool,
  filesTool,
  ...ALL_OPERATIONS.flatMap((operation) => (operation.tool === undefined ? [] : [toTool(operation, operation.tool)])),
];

/** The tools that a client gets. */
export function offeredTools({ decide }: { decide: boolean }): readonly Tool[] {
  return TOOLS.filter((tool) => decide || !isDeciding(tool));
}

/** The tool of an operation that agents call as it is. */
function toTool(operation: AnyOperation, { name, title, when, description, idempotent, input }: OperationTool): Tool {
  const fields = (input ?? operation.input)?.(z);
  const inPath = pathKeys(operation).map((key) => [key, key === 'runId' ? RUN_REFERENCE : z.string().min(1).max(100)]);
  return {
    name: name ?? `halo_${operation.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
    title,
    description: description ?? [operation.summary, when].filter((text) => text !== undefined).join(' '),
    uses: [operation],
    ...(idempotent && { idempotent }),
    input: z.strictObject({ ...Object.fromEntries(inPath), ...(fields instanceof z.ZodObject ? fields.shape : {}) }),
    output: isDecision(operation) ? decided : outputOf(operation),
    run: (operations, given) => callNamed(operations, operation.name, given),
  };
}

async function callNamed(operations: ToolOperations, name: string, input: object): Promise<object> {
  const method = operations[name as keyof ToolOperations] as (input: object) => Promise<object>;
  return method(input);
}

/** Its result is one of two objects; MCP needs one. */
function isDecision({ output }: AnyOperation): boolean {
  return output.kind === 'json' && output.schema(z) instanceof z.ZodUnion;
}
