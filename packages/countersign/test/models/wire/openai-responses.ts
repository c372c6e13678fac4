// OpenAI responses: items with ids that the server stores, or encrypted reasoning if it does not.
import {
  asObject,
  type Body,
  type Dialect,
  event,
  firstFault,
  type PairingStep,
  pairingFault,
  pieces,
  type Said,
} from './script.ts';

export function openaiResponses(): Dialect {
  const stored = new Map<string, Body>();
  /** The reasoning that must precede a call, by the id of the call. */
  const reasonsOf = new Map<string, Body>();
  let replies = 0;

  function itemsOf(say: readonly Said[]): readonly Body[] {
    replies++;
    const items = say.map((said, index) => itemOf(said, `${replies}_${index}`));
    const reasoning = items.find((item) => item.type === 'reasoning');
    for (const item of items) {
      stored.set(item.id, item);
      if (item.type === 'function_call' && reasoning) reasonsOf.set(item.call_id, reasoning);
    }
    return items;
  }

  /** The input with every reference replaced by the item it names. */
  const resolved = (body: Body): readonly Body[] =>
    body.input.map((item: Body) => (item.type === 'item_reference' ? (stored.get(item.id) ?? item) : item));

  function reasoningFault(items: readonly Body[]): string | undefined {
    for (const item of items) {
      const needed = item.type === 'function_call' ? reasonsOf.get(item.call_id) : undefined;
      const found = needed && items.find((other) => other.type === 'reasoning' && other.id === needed.id);
      if (needed && !found) return `the call ${item.call_id} came without its reasoning item ${needed.id}`;
      if (needed && found.encrypted_content !== needed.encrypted_content) return 'the reasoning was tampered with';
    }
    return undefined;
  }

  return {
    path: /\/responses$/,
    keyHeader: 'authorization',
    wantsStream: (_path, body) => body.stream === true,
    faultOf(body) {
      if (!Array.isArray(body.input) || body.input.length === 0) return 'input is empty';
      const references = body.input.filter((item: Body) => item.type === 'item_reference');
      const unknown = references.find((item: Body) => body.store === false || !stored.has(item.id));
      if (unknown) return `the item ${unknown.id} is not stored`;
      const items = resolved(body);
      return firstFault(...items.map(itemFault), reasoningFault(items), pairingFault(grouped(items)));
    },
    whole(say) {
      const output = itemsOf(say);
      return { ...head(replies), status: 'completed', output, usage: USAGE, incomplete_details: null, error: null };
    },
    events(say) {
      const items = itemsOf(say);
      let sequence = 0;
      const send = (type: string, rest: object) => event({ type, sequence_number: sequence++, ...rest });
      return {
        opening: [send('response.created', { response: head(replies) })],
        saying: items.map((item, index) => itemEvents(item, index, send)),
        error: send('error', {
          error: { type: 'server_error', code: 'server_error', message: 'overloaded', param: null },
        }),
        ending: [
          send('response.completed', {
            response: { ...head(replies), usage: USAGE, incomplete_details: null },
          }),
        ],
      };
    },
    failure: (status, message) => ({
      error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param: null, code: null },
    }),
    results: (body) =>
      body.input
        .filter((item: Body) => item.type === 'function_call_output')
        .map((item: Body) => ({ id: item.call_id, text: item.output })),
    inputs: (body) =>
      resolved(body)
        .filter((item) => item.type === 'function_call')
        .map((item) => asObject(item.arguments)),
  };
}

const USAGE = {
  input_tokens: 11,
  output_tokens: 7,
  total_tokens: 18,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens_details: { reasoning_tokens: 2 },
};

const head = (number: number) => ({ id: `resp_${number}`, object: 'response', created_at: 1, model: 'scripted' });

function itemOf(said: Said, id: string): Body {
  if ('reasoning' in said) {
    const summary = [{ type: 'summary_text', text: said.reasoning }];
    return { type: 'reasoning', id: `rs_${id}`, summary, encrypted_content: said.signature };
  }
  if ('text' in said) {
    const content = [{ type: 'output_text', text: said.text, annotations: [] }];
    return { type: 'message', id: `msg_${id}`, role: 'assistant', status: 'completed', content };
  }
  const call = { call_id: said.id, name: said.call, arguments: said.input, status: 'completed' };
  return { type: 'function_call', id: `fc_${id}`, ...call };
}

type Send = (type: string, rest: object) => string;

function itemEvents(item: Body, index: number, send: Send): readonly string[] {
  const at = { output_index: index, item_id: item.id };
  const added = (rest: object) =>
    send('response.output_item.added', { output_index: index, item: { ...item, ...rest } });
  const done = send('response.output_item.done', { output_index: index, item });
  switch (item.type) {
    case 'reasoning':
      return [
        added({ summary: [], encrypted_content: null }),
        send('response.reasoning_summary_part.added', { ...at, summary_index: 0 }),
        ...pieces(item.summary[0].text).map((delta) =>
          send('response.reasoning_summary_text.delta', { ...at, summary_index: 0, delta }),
        ),
        send('response.reasoning_summary_part.done', { ...at, summary_index: 0 }),
        done,
      ];
    case 'message':
      return [
        added({ content: [] }),
        ...pieces(item.content[0].text).map((delta) =>
          send('response.output_text.delta', { ...at, content_index: 0, delta }),
        ),
        done,
      ];
    default:
      return [
        added({ arguments: '' }),
        ...pieces(item.arguments).map((delta) => send('response.function_call_arguments.delta', { ...at, delta })),
        send('response.function_call_arguments.done', { ...at, arguments: item.arguments }),
        done,
      ];
  }
}

function itemFault(item: Body): string | undefined {
  switch (item.type) {
    case 'function_call':
      return firstFault(
        !/^.{1,64}$/.test(item.call_id ?? '') && `the call id ${item.call_id} has no valid length`,
        typeof item.arguments !== 'string' && 'the arguments of a call are no text',
        typeof asObject(item.arguments) !== 'object' && 'the arguments of a call are no JSON object',
      );
    case 'function_call_output':
      return typeof item.output === 'string' ? undefined : 'a function_call_output has no output';
    case 'reasoning':
      return item.encrypted_content || item.id ? undefined : 'a reasoning item has neither id nor encrypted content';
    default:
      return (item.content ?? '').length === 0 ? `a ${item.role} message is empty` : undefined;
  }
}

/** Neighbouring calls are one step; reasoning and messages of the model may come between them. */
function grouped(items: readonly Body[]): readonly PairingStep[] {
  const steps: PairingStep[] = [];
  let calls: string[] | undefined;
  for (const item of items) {
    if (item.type === 'function_call' && calls) calls.push(item.call_id);
    else if (item.type === 'function_call') {
      calls = [item.call_id];
      steps.push({ calls });
    } else if (item.type === 'function_call_output') {
      calls = undefined;
      steps.push({ result: item.call_id });
    } else if (item.role === 'user') {
      calls = undefined;
      steps.push({ other: 'user' });
    }
  }
  return steps;
}
