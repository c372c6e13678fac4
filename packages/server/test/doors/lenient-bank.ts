// An MCP server that reads as carelessly as some real ones: of two keys the first counts, letters may be of any case, and a call
// needs no id. What it pays is a line in a file. While the file `hang` exists, it pays and never answers.
import { appendFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const first = (message: string, pattern: RegExp): string | undefined => pattern.exec(message)?.[1];

const TOOL = {
  name: 'pay',
  description: 'Pays.',
  inputSchema: {
    type: 'object',
    properties: { to: { type: 'string' }, amount: { type: 'number' } },
    required: ['to', 'amount'],
  },
};

/** The answer to a message; undefined if it gets none. */
function answerTo(message: string, ledger: string, hang: string): string | undefined {
  const id = first(message, /"id"\s*:\s*("[^"]*"|\d+)/i);
  const result = (value: object) =>
    id === undefined ? undefined : `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(value)}}`;
  const method = first(message, /"method"\s*:\s*"(tools\/call)"/i) ?? first(message, /"method"\s*:\s*"([^"]*)"/i) ?? '';
  switch (method.toLowerCase()) {
    case 'initialize':
      return result({
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'bank', version: '1' },
      });
    case 'tools/list':
      return result({ tools: [TOOL] });
    case 'tools/call': {
      const to = first(message, /"to"\s*:\s*"((?:[^"\\]|\\.)*)"/i) ?? '';
      appendFileSync(
        ledger,
        `${JSON.stringify({ to: JSON.parse(`"${to}"`), amount: Number(first(message, /"amount"\s*:\s*(\d+)/i)) })}\n`,
      );
      return existsSync(hang) ? undefined : result({ content: [{ type: 'text', text: 'paid' }] });
    }
    default:
      return result({});
  }
}

/** Over Streamable HTTP, without sessions. */
export const serveBank = (ledger: string, hang: string) =>
  createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const answer = answerTo(body, ledger, hang);
    if (answer !== undefined) response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    else if (!existsSync(hang)) response.writeHead(202).end();
  });

const [, program, ledger = '', hang = ''] = process.argv;
if (program === import.meta.filename)
  createInterface({ input: process.stdin }).on('line', (line) => {
    const answer = answerTo(line, ledger, hang);
    if (answer !== undefined) process.stdout.write(`${answer}\n`);
  });
