// `countersign mcp inbox`: the inbox as an MCP server on standard input and output, for clients of every protocol version.
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { defined } from '../../defined.ts';
import type { InboxPort } from '../../mcp/inbox-server.ts';
import { visibleLine } from '../../text/visible-text.ts';
import type { Backend } from '../backend/backend.ts';
import { failureOf } from '../failure.ts';
import type { Output } from '../print/output.ts';
import { stopSignal, survivingLostOutput } from '../runtime/stopping.ts';
import { type Action, type BackendOptions, withBackend, withDecider, withExamples } from './options.ts';

export function addMcpInbox(mcp: Command, action: Action): void {
  const command = mcp
    .command('inbox')
    .summary('serve the inbox to an MCP client')
    .description(
      [
        'An MCP server with the tools list_requests, read_request, decide_request and freeze_calls. The client must ask its user to confirm each decision.',
        'A token that may start runs cannot decide, and nobody decides requests of runs that they started.',
      ].join('\n\n'),
    )
    .action(action(survivingLostOutput(serveInbox)));
  withExamples(
    withBackend(withDecider(command)),
    ['countersign mcp inbox --url https://approvals.example.com', 'as a server in the settings of the client'],
    ['countersign mcp inbox --store sqlite:./runs.sqlite --by dora', 'on a store'],
  );
}

async function serveInbox(output: Output, options: BackendOptions): Promise<undefined> {
  // Standard output belongs to the protocol.
  console.log = console.error;
  const [{ serverUrl, useBackend }, { inboxServer }, { overStdio }] = await Promise.all([
    import('../runtime/opening.ts'),
    import('../../mcp/inbox-server.ts'),
    import('../../mcp/over-stdio.ts'),
  ]);
  // A question and its answer pass through this process only.
  const sealing = { secret: randomBytes(32).toString('base64url'), asksOlderClients: true };
  return useBackend(options, { agents: true, channel: 'mcp' }, (backend) => {
    const port = portTo(backend, serverUrl(options), output);
    return overStdio(() => inboxServer(port, sealing), stopSignal());
  });
}

function portTo(backend: Backend, url: string | undefined, output: Output): InboxPort {
  const { person = 'unknown' } = backend;
  return {
    person,
    list: ({ limit, cursor }) => backend.cards({ limit, ...defined({ cursor }) }),
    read: (id) => backend.card(id),
    decide: ({ id, digest }, decision, note) => backend.decide(id, decision, { digest, ...defined({ note }) }),
    freeze: (freeze) => backend.freezes.freeze(freeze),
    linkTo: (id) => (url === undefined ? 'countersign inbox' : `${url}/requests/${encodeURIComponent(id)}`),
    explain: (error) => {
      const { code, message } = failureOf(error);
      if (code !== 'failed') return message;
      output.note(`${output.style('red', 'error')}: ${visibleLine(message)}`);
      return undefined;
    },
  };
}
