import { isDeciding, type Tool } from '../tool.ts';
import { CONTROL_TOOLS } from './control-tools.ts';
import { diffTool, filesTool, logsTool } from './output-tools.ts';
import { estimateTool, submitTool, validateTool } from './prd-tools.ts';
import { listTool, statusTool, waitTool } from './run-tools.ts';

/** Every tool, in the order of docs/mcp.md. */
export const TOOLS: readonly Tool[] = [
  validateTool,
  estimateTool,
  submitTool,
  listTool,
  statusTool,
  waitTool,
  logsTool,
  diffTool,
  filesTool,
  ...CONTROL_TOOLS,
];

/** The tools that a client gets. */
export function offeredTools({ decide }: { decide: boolean }): readonly Tool[] {
  return TOOLS.filter((tool) => decide || !isDeciding(tool));
}
