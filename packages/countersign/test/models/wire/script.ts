// The output of a scripted provider, and the interface of a provider's API.

/** One item of the model's output. The provider requires a `signature` back with it. */
export type Said =
  | { readonly reasoning: string; readonly signature: string }
  | { readonly text: string }
  | { readonly call: string; readonly id: string; readonly input: string; readonly signature?: string };

/**
 * One response of the server. `cut`: it sends the output and stalls, or stalls within the last item, or ends the
 * body cleanly, or sends a retryable error; the end of the reply never comes.
 */
export type Scripted =
  | { readonly say: readonly Said[]; readonly cut?: Cut }
  | { readonly fail: number; readonly headers?: Readonly<Record<string, string>>; readonly message?: string };

export type Cut = 'stall' | 'stall-inside' | 'end' | 'error';

/** A request or response as JSON: every shape of four APIs, read field by field. */
export type Body = any;

/** The result of a call as it stands in a request, in its order. */
export type SentResult = { readonly id: string; readonly text: string };

/** One provider API: how it is called, which requests it rejects, how it responds. It remembers the ids it issued. */
export type Dialect = {
  /** The request path, without query. */
  readonly path: RegExp;
  /** The header that carries the key. */
  readonly keyHeader: string;
  wantsStream(path: string, body: Body): boolean;
  /** The reason for a 400 of the real API, if any. */
  faultOf(body: Body): string | undefined;
  whole(say: readonly Said[]): Body;
  events(say: readonly Said[]): Events;
  failure(status: number, message: string): Body;
  results(body: Body): readonly SentResult[];
  /** The inputs of the calls in a request, in their order. */
  inputs(body: Body): readonly Body[];
};

/** The events of a stream: those that open it, those of each item, those that end it. */
export type Events = {
  readonly opening: readonly string[];
  readonly saying: readonly (readonly string[])[];
  readonly ending: readonly string[];
  readonly error: string;
};

/** A text in two pieces, as in a stream. */
export function pieces(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '');
}

export const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

export const hasCall = (say: readonly Said[]): boolean => say.some((said) => 'call' in said);

/** The input of a call as an API shows it: parsed if it is a JSON object. */
export function asObject(text: string): Body {
  try {
    return JSON.parse(text);
  } catch {
    // The script contains a call whose input is not JSON.
    return text;
  }
}

/** The first defined reason. */
export function firstFault(...faults: readonly (string | false | undefined)[]): string | undefined {
  return faults.find((fault): fault is string => typeof fault === 'string');
}

/** Calls and results in the order of a conversation: each call is answered once, before any other message. */
export function pairingFault(steps: readonly PairingStep[]): string | undefined {
  let open = new Set<string>();
  for (const step of steps) {
    if ('result' in step) {
      if (!open.delete(step.result)) return `the result ${step.result} answers no open call`;
    } else if ('calls' in step) {
      if (open.size > 0) return `calls without result: ${[...open].join(', ')}`;
      open = new Set(step.calls);
      if (open.size !== step.calls.length) return 'two calls have the same id';
    } else if (open.size > 0) return `calls without result: ${[...open].join(', ')}`;
  }
  return open.size > 0 ? `calls without result: ${[...open].join(', ')}` : undefined;
}

export type PairingStep =
  | { readonly calls: readonly string[] }
  | { readonly result: string }
  | { readonly other: string };
