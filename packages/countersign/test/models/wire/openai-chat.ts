// OpenAI chat completions, as OpenAI and compatible providers implement them.
import {
  asObject,
  type Body,
  type Dialect,
  event,
  firstFault,
  hasCall,
  type PairingStep,
  pairingFault,
  pieces,
  type Said,
} from './script.ts';

/** OpenAI itself signs nothing; some compatible providers sign calls and require the signature back. */
export function openaiChat(signs = false): Dialect {
  const signatures = new Map<string, string>();
  let replies = 0;

  function remember(say: readonly Said[]): void {
    replies++;
    for (const said of say) if (signs && 'call' in said && said.signature) signatures.set(said.id, said.signature);
  }

  return {
    path: /\/chat\/completions$/,
    keyHeader: 'authorization',
    wantsStream: (_path, body) => body.stream === true,
    faultOf: (body) =>
      firstFault(
        toolsFault(body),
        body.messages.map(messageFault).find(Boolean),
        pairingFault(body.messages.flatMap(steps)),
        callsOf(body)
          .filter((call) => signatures.has(call.id) && signatureOf(call) !== signatures.get(call.id))
          .map((call) => `the call ${call.id} has lost its signature`)[0],
      ),
    whole(say) {
      remember(say);
      const message = { role: 'assistant', content: textOf(say) || null, ...reasoningOf(say), ...toolCalls(say) };
      return {
        ...head(replies, 'chat.completion'),
        choices: [{ index: 0, message, finish_reason: finish(say) }],
        usage: USAGE,
      };
    },
    events(say) {
      remember(say);
      const chunk = (choice: object | undefined, rest: object = {}) =>
        event({ ...head(replies, 'chat.completion.chunk'), choices: choice ? [{ index: 0, ...choice }] : [], ...rest });
      const delta = (value: object) => chunk({ delta: value, finish_reason: null });
      let index = 0;
      return {
        opening: [delta({ role: 'assistant', content: '' })],
        saying: say.map((said) => {
          if ('reasoning' in said) return pieces(said.reasoning).map((text) => delta({ reasoning_content: text }));
          if ('text' in said) return pieces(said.text).map((text) => delta({ content: text }));
          const at = index++;
          const [call] = toolCalls([said]).tool_calls ?? [];
          return [
            delta({ tool_calls: [{ index: at, ...call, function: { name: said.call, arguments: '' } }] }),
            ...pieces(said.input).map((text) => delta({ tool_calls: [{ index: at, function: { arguments: text } }] })),
          ];
        }),
        error: event({ error: { message: 'overloaded', type: 'server_error', param: null, code: null } }),
        ending: [
          chunk({ delta: {}, finish_reason: finish(say) }),
          chunk(undefined, { usage: USAGE }),
          'data: [DONE]\n\n',
        ],
      };
    },
    failure: (status, message) => ({
      error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', param: null, code: null },
    }),
    results: (body) =>
      body.messages
        .filter((message: Body) => message.role === 'tool')
        .map((message: Body) => ({ id: message.tool_call_id, text: message.content })),
    inputs: (body) => callsOf(body).map((call) => asObject(call.function.arguments)),
  };
}

const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 2 },
};

const head = (number: number, object: string) => ({ id: `chatcmpl-${number}`, object, created: 1, model: 'scripted' });

const finish = (say: readonly Said[]): string => (hasCall(say) ? 'tool_calls' : 'stop');

const textOf = (say: readonly Said[]): string => say.map((said) => ('text' in said ? said.text : '')).join('');

function reasoningOf(say: readonly Said[]): object {
  const reasoning = say.map((said) => ('reasoning' in said ? said.reasoning : '')).join('');
  return reasoning === '' ? {} : { reasoning_content: reasoning };
}

function toolCalls(say: readonly Said[]): { tool_calls?: readonly object[] } {
  const calls = say.flatMap((said) => {
    if (!('call' in said)) return [];
    const signed = said.signature && { extra_content: { google: { thought_signature: said.signature } } };
    return [{ id: said.id, type: 'function', function: { name: said.call, arguments: said.input }, ...signed }];
  });
  return calls.length === 0 ? {} : { tool_calls: calls };
}

const callsOf = (body: Body): readonly Body[] => body.messages.flatMap((message: Body) => message.tool_calls ?? []);

const signatureOf = (call: Body): unknown => call.extra_content?.google?.thought_signature;

function toolsFault(body: Body): string | undefined {
  if (body.tools === undefined) return body.tool_choice === undefined ? undefined : 'tool_choice without tools';
  const names: readonly Body[] = body.tools.map((tool: Body) => tool.function?.name);
  const shapes = body.tools.every((tool: Body) => tool.function?.parameters?.type === 'object');
  return firstFault(
    names.length === 0 && 'tools is empty',
    !names.every((name) => /^[\w-]{1,64}$/.test(name)) && 'a tool has no valid name',
    !shapes && 'the parameters of a tool are not an object schema',
  );
}

function messageFault(message: Body): string | undefined {
  const { role, content, tool_calls: calls } = message;
  if (role === 'tool') {
    return firstFault(
      typeof content !== 'string' && 'a tool message has no content',
      typeof message.tool_call_id !== 'string' && 'a tool message has no tool_call_id',
    );
  }
  if (role === 'assistant') {
    return firstFault(
      (content === null || content === undefined) && !calls && 'an assistant message has neither content nor calls',
      calls?.length === 0 && 'tool_calls is empty',
      ...(calls ?? []).map(callFault),
    );
  }
  const known = role === 'user' || role === 'system' || role === 'developer';
  return firstFault(!known && `unknown role ${role}`, (content ?? '').length === 0 && `a ${role} message is empty`);
}

function callFault(call: Body): string | undefined {
  const input = asObject(call.function?.arguments);
  return firstFault(
    !/^.{1,40}$/.test(call.id ?? '') && `the call id ${call.id} has no valid length`,
    (typeof input !== 'object' || input === null || Array.isArray(input)) && 'the arguments are no JSON object',
  );
}

function steps(message: Body): readonly PairingStep[] {
  if (message.role === 'tool') return [{ result: message.tool_call_id }];
  if (message.tool_calls) return [{ calls: message.tool_calls.map((call: Body) => call.id) }];
  return [{ other: message.role }];
}
