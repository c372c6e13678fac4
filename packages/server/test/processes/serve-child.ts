// A server in a child process, on the store of its argument: `sqlite:<path>` or the URL of a PostgreSQL server.
import { writeSync } from 'node:fs';
import { countersign, z } from 'countersign';
import { postgresStore } from 'countersign/postgres';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { createToken } from '../../src/identity/tokens.ts';
import { serve } from '../../src/serve.ts';

// Ends with its parent process.
process.stdin.on('end', () => process.exit()).resume();

const [place = ''] = process.argv.slice(2);
const store = place.startsWith('sqlite:') ? sqliteStore(place.slice('sqlite:'.length)) : postgresStore(place);
const model = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'ask', input: { question: 'When?' } }] },
);
const ai = countersign({ model, store });
const ask = ai.defineInterrupt({
  name: 'ask',
  description: 'Asks the user.',
  inputSchema: z.object({ question: z.string() }),
  outputSchema: z.string(),
});
ai.defineAgent({ name: 'teller', tools: [ask] });
const server = await serve(ai, { port: 0, inboxDir: false, metrics: 'open', handleSignals: true });
const { token } = await createToken(ai.runs.notes, { person: 'ann', reach: 'all' });
writeSync(1, `${JSON.stringify({ url: `http://127.0.0.1:${server.port}`, token })}\n`);
