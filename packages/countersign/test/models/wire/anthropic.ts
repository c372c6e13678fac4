// Anthropic messages: blocks, signed thinking, results in the message right after their calls.
import {
  asObject,
  type Body,
  type Dialect,
  firstFault,
  hasCall,
  type PairingStep,
  pairingFault,
  pieces,
  type Said,
} from './script.ts';

export function anthropic(): Dialect {
  /** The thinking before a call, by the id of the call. */
  const thinkingOf = new Map<string, Body>();
  const issued = new Set<string>();
  let replies = 0;

  function blocksOf(say: readonly Said[]): readonly Body[] {
    replies++;
    const blocks = say.map(blockOf);
    const thinking = blocks.find((block) => block.type === 'thinking');
    if (thinking) issued.add(thinking.signature);
    for (const block of blocks) if (block.type === 'tool_use' && thinking) thinkingOf.set(block.id, thinking);
    return blocks;
  }

  function thinkingFault(message: Body): string | undefined {
    for (const block of message.content) {
      if (block.type === 'thinking' && !issued.has(block.signature)) return 'a thinking block has an invalid signature';
      const needed = block.type === 'tool_use' ? thinkingOf.get(block.id) : undefined;
      const [first] = message.content;
      if (needed && (first.type !== 'thinking' || first.thinking !== needed.thinking))
        return 'a message with calls must start with its thinking block';
    }
    return undefined;
  }

  return {
    path: /\/messages$/,
    keyHeader: 'x-api-key',
    wantsStream: (_path, body) => body.stream === true,
    faultOf: (body) =>
      firstFault(
        typeof body.max_tokens !== 'number' && 'max_tokens is missing',
        body.messages[0]?.role !== 'user' && 'the first message must be of the user',
        body.tool_choice !== undefined && body.tools === undefined && 'tool_choice without tools',
        ...body.messages.flatMap((message: Body) => [messageFault(message), thinkingFault(message)]),
        pairingFault(body.messages.flatMap(steps)),
      ),
    whole(say) {
      const content = blocksOf(say);
      return { ...head(replies), content, stop_reason: stopReason(say), stop_sequence: null, usage: USAGE };
    },
    events(say) {
      const blocks = blocksOf(say);
      const start = { ...head(replies), content: [], stop_reason: null, stop_sequence: null };
      return {
        opening: [named('message_start', { message: { ...start, usage: { ...USAGE, output_tokens: 1 } } })],
        saying: blocks.map(blockEvents),
        error: named('error', { error: { type: 'overloaded_error', message: 'overloaded' } }),
        ending: [
          named('message_delta', { delta: { stop_reason: stopReason(say), stop_sequence: null }, usage: USAGE }),
          named('message_stop', {}),
        ],
      };
    },
    failure: (status, message) => ({
      type: 'error',
      error: { type: status < 500 ? 'invalid_request_error' : 'api_error', message },
    }),
    results: (body) => blocks(body, 'tool_result').map((block) => ({ id: block.tool_use_id, text: resultText(block) })),
    inputs: (body) => blocks(body, 'tool_use').map((block) => block.input),
  };
}

const USAGE = { input_tokens: 7, cache_read_input_tokens: 4, cache_creation_input_tokens: 0, output_tokens: 7 };

const head = (number: number) => ({ id: `msg_${number}`, type: 'message', role: 'assistant', model: 'scripted' });

const named = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;

const stopReason = (say: readonly Said[]): string => (hasCall(say) ? 'tool_use' : 'end_turn');

const blocks = (body: Body, type: string): readonly Body[] =>
  body.messages.flatMap((message: Body) => message.content).filter((block: Body) => block.type === type);

/** Marked as an error on the wire, as the real API shows it to the model. */
const resultText = (block: Body): string => (block.is_error ? `error: ${block.content}` : block.content);

function blockOf(said: Said): Body {
  if ('reasoning' in said) return { type: 'thinking', thinking: said.reasoning, signature: said.signature };
  if ('text' in said) return { type: 'text', text: said.text };
  return { type: 'tool_use', id: said.id, name: said.call, input: asObject(said.input) };
}

function blockEvents(block: Body, index: number): readonly string[] {
  const start = (content: object) => named('content_block_start', { index, content_block: content });
  const delta = (value: object) => named('content_block_delta', { index, delta: value });
  const stop = named('content_block_stop', { index });
  switch (block.type) {
    case 'thinking':
      return [
        start({ type: 'thinking', thinking: '', signature: '' }),
        ...pieces(block.thinking).map((thinking) => delta({ type: 'thinking_delta', thinking })),
        delta({ type: 'signature_delta', signature: block.signature }),
        stop,
      ];
    case 'text':
      return [
        start({ type: 'text', text: '' }),
        ...pieces(block.text).map((text) => delta({ type: 'text_delta', text })),
        stop,
      ];
    default:
      return [
        start({ ...block, input: {} }),
        ...pieces(inputText(block.input)).map((json) => delta({ type: 'input_json_delta', partial_json: json })),
        stop,
      ];
  }
}

const inputText = (input: unknown): string => (typeof input === 'string' ? input : JSON.stringify(input));

function messageFault({ role, content }: Body): string | undefined {
  if (role !== 'user' && role !== 'assistant') return `unknown role ${role}`;
  const first = content.findIndex((block: Body) => block.type !== 'tool_result');
  const late = first >= 0 && content.slice(first).some((block: Body) => block.type === 'tool_result');
  return firstFault(
    content.length === 0 && `a message of the ${role} is empty`,
    late && 'tool_result blocks must come first',
    ...content.map(blockFault),
  );
}

function blockFault(block: Body): string | undefined {
  switch (block.type) {
    case 'text':
      return block.text === '' ? 'text blocks must not be empty' : undefined;
    case 'tool_use':
      return firstFault(
        !/^[\w-]+$/.test(block.id) && `the call id ${block.id} has invalid characters`,
        (typeof block.input !== 'object' || block.input === null) && 'the input of a call is no object',
      );
    case 'tool_result':
      return block.content === undefined ? 'a tool_result has no content' : undefined;
    default:
      return undefined;
  }
}

function steps({ content }: Body): readonly PairingStep[] {
  const calls = content.filter((block: Body) => block.type === 'tool_use').map((block: Body) => block.id);
  if (calls.length > 0) return [{ calls }];
  return content.map((block: Body) =>
    block.type === 'tool_result' ? { result: block.tool_use_id } : { other: block.type },
  );
}
