// A model server on this machine: it replies with scripted calls, in the protocols of Anthropic and of OpenAI.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A call of the shell. The agents name the tool and its field differently. */
export type Scripted = string;

type Part = { readonly type: string; readonly content?: unknown; readonly output?: unknown };
type Body = {
  readonly model: string;
  readonly tools?: readonly { readonly name?: string }[];
  readonly messages?: readonly { readonly content: unknown }[];
  readonly input?: readonly Part[];
};

/** The n-th reply asks for the n-th command; after the last one the model stops. */
export async function startModel(commands: readonly Scripted[]) {
  let results: readonly string[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Body;
    const said = body.input ?? body.messages?.flatMap(({ content }) => (Array.isArray(content) ? content : [])) ?? [];
    const told = (said as readonly Part[]).filter(({ type }) =>
      /^(tool_result|(function|custom_tool)_call_output)$/.test(type),
    );
    if (told.length > 0) results = told.map(({ content, output }) => JSON.stringify(content ?? output));
    const command = (body.tools ?? []).length > 0 ? commands[told.length] : undefined;
    const events = body.input ? openai(body.model, told.length, command) : anthropic(body, told.length, command);
    response.setHeader('content-type', 'text/event-stream');
    for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What the model was told about its calls. */
    results: () => results,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

type Event = { readonly type: string; readonly [key: string]: unknown };

function anthropic({ model, tools = [] }: Body, index: number, command: string | undefined): readonly Event[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    id: `msg_${index}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    usage,
  };
  const block = command
    ? {
        type: 'tool_use',
        id: `toolu_${index}`,
        name: tools.find(({ name }) => name === 'bash')?.name ?? 'Bash',
        input: {},
      }
    : { type: 'text', text: '' };
  const delta = command
    ? { type: 'input_json_delta', partial_json: JSON.stringify({ command, description: 'Scripted' }) }
    : { type: 'text_delta', text: 'Done.' };
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: command ? 'tool_use' : 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
}

function openai(model: string, index: number, command: string | undefined): readonly Event[] {
  const content = [{ type: 'output_text', text: 'Done.', annotations: [] }];
  const item = command
    ? {
        type: 'function_call',
        id: `fc_${index}`,
        call_id: `call_${index}`,
        name: 'exec_command',
        arguments: JSON.stringify({ cmd: command }),
      }
    : { type: 'message', id: `msg_${index}`, role: 'assistant', content };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  const response = { id: `resp_${index}`, object: 'response', model, status: 'completed', output: [item], usage };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  ];
}
