// The payment behind our gate. eve's approval is only the pause: whoever continues the session, the record decides.
import { defineTool } from 'eve/tools';
import { z } from 'zod';
import { ask, pass } from '../lib/gate.ts';

export default defineTool({
  description: 'Pays.',
  inputSchema: z.object({ to: z.string(), amount: z.number() }),
  approval: ({ session, callId, toolInput }) => ask(toolInput, `${session.id}/${callId}`),
  execute: (input, ctx) => pass(input, `${ctx.session.id}/${ctx.callId}`),
});
