// The payment, which a person approves.
import { defineTool } from 'eve/tools';
import { always } from 'eve/tools/approval';
import { z } from 'zod';

export default defineTool({
  description: 'Pays.',
  inputSchema: z.object({ to: z.string(), amount: z.number() }),
  approval: always(),
  execute: (input) => globalThis.payOfScoreboard(input),
});
