import { z } from 'zod';
import { HOST_FILE } from '../trust/key-trust.ts';
import { key } from './key-metadata.ts';

/** `[mcp]`: what clients of the MCP server may do. */
export const McpTable = z.strictObject({
  decide: key(
    z.boolean({ error: 'must be true or false' }),
    [
      'true or false',
      false,
      'Whether [MCP clients](mcp.md#deciding-tools) may answer, approve, reject, land and cancel. Only in `<HALO_HOME>/config.toml`.',
    ],
    HOST_FILE,
  ),
});
