// Gemini generateContent: calls by name and position, signed thoughts.
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

export function gemini(): Dialect {
  /** The signature that a call came with, by the id of the call. */
  const signatures = new Map<string, string>();
  let replies = 0;

  function partsOf(say: readonly Said[]): readonly Body[] {
    replies++;
    for (const said of say) if ('call' in said && said.signature) signatures.set(said.id, said.signature);
    return say.map(partOf);
  }

  const signatureFault = (part: Body): string | undefined => {
    const expected = part.functionCall && signatures.get(part.functionCall.id);
    return expected && part.thoughtSignature !== expected
      ? `the call ${part.functionCall.id} is missing its thought signature`
      : undefined;
  };

  return {
    path: /\/models\/[\w.-]+:(g|streamG)enerateContent$/,
    keyHeader: 'x-goog-api-key',
    wantsStream: (path) => path.endsWith(':streamGenerateContent'),
    faultOf: (body) =>
      firstFault(
        body.contents.length === 0 && 'contents is empty',
        ...body.contents.flatMap((content: Body) => [contentFault(content), ...content.parts.map(signatureFault)]),
        pairingFault(body.contents.flatMap(steps)),
      ),
    whole: (say) => chunk(partsOf(say), replies, 'STOP'),
    events(say) {
      const parts = partsOf(say);
      return {
        opening: [],
        saying: parts.map((part) => streamed(part).map((piece) => event(chunk([piece], replies)))),
        error: event({ error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } }),
        ending: [event(chunk([{ text: '' }], replies, 'STOP'))],
      };
    },
    failure: (status, message) => ({
      error: { code: status, message, status: status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL' },
    }),
    results: (body) =>
      parts(body, 'functionResponse').map(({ id, response }) => ({
        id,
        text: response.error === undefined ? textOf(response.content) : `error: ${textOf(response.error)}`,
      })),
    inputs: (body) => parts(body, 'functionCall').map((call) => call.args),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const USAGE = {
  promptTokenCount: 11,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 2,
  totalTokenCount: 18,
};

function chunk(parts: readonly Body[], number: number, finishReason?: string): Body {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
    ...(finishReason && { usageMetadata: USAGE }),
    responseId: `response-${number}`,
    modelVersion: 'scripted',
  };
}

const parts = (body: Body, kind: string): readonly Body[] =>
  body.contents.flatMap((content: Body) => content.parts.flatMap((part: Body) => part[kind] ?? []));

function partOf(said: Said): Body {
  if ('reasoning' in said) return { text: said.reasoning, thought: true };
  if ('text' in said) return { text: said.text };
  return {
    functionCall: { id: said.id, name: said.call, args: asObject(said.input) },
    ...(said.signature && { thoughtSignature: said.signature }),
  };
}

const streamed = (part: Body): readonly Body[] =>
  part.text === undefined ? [part] : pieces(part.text).map((text) => ({ ...part, text }));

function contentFault({ role, parts }: Body): string | undefined {
  return firstFault(
    role !== 'user' && role !== 'model' && `unknown role ${role}`,
    parts.length === 0 && 'a content has no parts',
    ...parts.map(partFault),
  );
}

function partFault(part: Body): string | undefined {
  if (part.functionCall) return isObject(part.functionCall.args) ? undefined : 'the args of a call are not an object';
  if (part.functionResponse) {
    const { name, response } = part.functionResponse;
    return name && isObject(response) ? undefined : 'a function response has no name or no response';
  }
  return part.text || part.inlineData || part.fileData ? undefined : 'a part has no data';
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

function steps({ parts }: Body): readonly PairingStep[] {
  const calls = parts.flatMap((part: Body) => part.functionCall?.id ?? []);
  if (calls.length > 0) return [{ calls }];
  return parts.map((part: Body) => (part.functionResponse ? { result: part.functionResponse.id } : { other: 'text' }));
}
