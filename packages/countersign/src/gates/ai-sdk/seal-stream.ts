// Adds seals to a UI message stream: for the requests in it, and for the outcomes of calls.
import type { Outcome } from './ledger.ts';
import type { SealedLedger, StreamedCall } from './sealed-ledger.ts';

type Chunk = {
  readonly type: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly preliminary?: boolean;
};

export function sealStream<Stream extends ReadableStream>(stream: Stream, ledger: SealedLedger): Stream {
  const calls = new Map<string, StreamedCall>();
  const sealed = stream.pipeThrough(
    new TransformStream<Chunk, object>({
      transform(chunk, controller) {
        // At the end of a step all of its calls are known. Clients cannot continue before it.
        if (chunk.type === 'finish-step' || chunk.type === 'finish')
          for (const seal of ledger.sealAsked()) controller.enqueue(seal);
        controller.enqueue(chunk);
        const { type, toolCallId: id = '', toolName: tool = '', input } = chunk;
        if (type === 'tool-input-available') calls.set(id, { tool, input });
        const outcome = outcomeIn(chunk);
        if (outcome) for (const seal of ledger.sealOutcome(id, outcome, calls.get(id))) controller.enqueue(seal);
      },
    }),
  );
  return sealed as Stream;
}

function outcomeIn({ type, output, errorText, preliminary }: Chunk): Outcome | undefined {
  if (type === 'tool-output-available' && preliminary !== true) return { type: 'output', output };
  if (type === 'tool-output-error') return { type: 'error', text: String(errorText) };
  return undefined;
}
