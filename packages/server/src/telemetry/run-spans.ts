// What happened in a run as spans of time: replies of the model, calls of tools, waits for people, and the run itself.
import type { RunStatus, StoredEvent } from 'countersign';

/** A span of time in a run. A wait for a person is one of its own, and no error. */
export type RunSpan = {
  readonly kind: 'run' | 'model' | 'tool' | 'wait';
  /** The agent of a run, the tool of a call or a wait. */
  readonly name: string;
  readonly startAt: number;
  readonly endAt: number;
  /** The event that ended it, by its place in the run. */
  readonly endSeq: number;
  /** How it ended: a status of the run, a type of result or decision. */
  readonly outcome: string;
  readonly callId?: string;
  readonly interruptKind?: string;
  readonly by?: string;
  readonly channel?: string;
};

type OpenCall = {
  readonly tool: string;
  startedAt?: number | undefined;
  wait?: { readonly at: number; readonly kind: string } | undefined;
  /** The conversation inside it. */
  inside?: RunSpans;
};

const ENDED: ReadonlySet<RunStatus> = new Set(['done', 'failed', 'cancelled']);

/** Fed with the events of one run, in order and each once. */
export class RunSpans {
  readonly #agent: string;
  readonly #calls = new Map<string, OpenCall>();
  #seq = 0;
  #lastAt: number | undefined;
  #begunAt: number | undefined;

  constructor(agent: string) {
    this.#agent = agent;
  }

  /** The number of events that were fed. */
  get seq(): number {
    return this.#seq;
  }

  /** The spans that these events end; `status` is that of the run after the last of them. */
  feed(events: readonly StoredEvent[], status: RunStatus): readonly RunSpan[] {
    const spans = events.flatMap((event) => {
      this.#seq += 1;
      this.#begunAt ??= event.at;
      const ended = this.#spansOf(event);
      this.#lastAt = event.at;
      return ended;
    });
    const run = ENDED.has(status) && events.length > 0 ? this.#ofRun(status) : [];
    return [...spans, ...run];
  }

  #spansOf(event: StoredEvent): readonly RunSpan[] {
    const { at } = event;
    const span = { endAt: at, endSeq: this.#seq };
    switch (event.type) {
      case 'model-replied': {
        for (const { id, ref } of event.calls) this.#calls.set(id, { tool: toolOf(event.content, ref) });
        const outcome = event.finishReason;
        return [{ ...span, kind: 'model', name: this.#agent, startAt: this.#lastAt ?? at, outcome }];
      }
      case 'call-started':
        this.#call(event.callId).startedAt = at;
        return [];
      case 'call-went-on':
        return this.#ofInside(event);
      case 'call-interrupted': {
        const ended = this.#ofTool(event.callId, 'interrupted', span);
        this.#call(event.callId).wait = { at, kind: event.interrupt.kind };
        return ended;
      }
      case 'decision-made': {
        const { type, by, channel } = event.decision;
        return this.#ofWait(event.callId, type, span, { ...(by && { by }), ...(channel && { channel }) });
      }
      case 'call-settled': {
        const { type } = event.result;
        const waited = this.#ofWait(event.callId, 'withdrawn', span, {});
        return [...waited, ...this.#ofTool(event.callId, type, span)];
      }
      case 'run-ended':
        return [...this.#calls.keys()].flatMap((callId) => this.#ofWait(callId, 'withdrawn', span, {}));
      case 'user-spoke':
      case 'call-held':
      case 'step-done':
      case 'call-committed':
      case 'call-ended-late':
      case 'run-failed':
      case 'run-went-on':
        return [];
    }
  }

  /** A wait inside is a wait of the call itself, and is told as that. */
  #ofInside({ callId, inside, at }: Extract<StoredEvent, { type: 'call-went-on' }>): readonly RunSpan[] {
    const call = this.#call(callId);
    call.inside ??= new RunSpans(call.tool);
    return call.inside
      .feed(
        inside.map((event) => ({ ...event, at })),
        'running',
      )
      .filter(({ kind }) => kind !== 'wait')
      .map((span) => ({ ...span, endSeq: this.#seq }));
  }

  #ofTool(callId: string, outcome: string, span: Pick<RunSpan, 'endAt' | 'endSeq'>): readonly RunSpan[] {
    const call = this.#call(callId);
    const startAt = call.startedAt;
    call.startedAt = undefined;
    return startAt === undefined ? [] : [{ ...span, kind: 'tool', name: call.tool, startAt, outcome, callId }];
  }

  #ofWait(
    callId: string,
    outcome: string,
    span: Pick<RunSpan, 'endAt' | 'endSeq'>,
    who: Pick<RunSpan, 'by' | 'channel'>,
  ): readonly RunSpan[] {
    const call = this.#call(callId);
    const { wait } = call;
    call.wait = undefined;
    if (!wait) return [];
    return [
      { ...span, ...who, kind: 'wait', name: call.tool, startAt: wait.at, outcome, callId, interruptKind: wait.kind },
    ];
  }

  /** A run that goes on after its end, as a conversation does, has another one. */
  #ofRun(status: RunStatus): readonly RunSpan[] {
    const startAt = this.#begunAt;
    this.#begunAt = undefined;
    if (startAt === undefined) return [];
    const endAt = this.#lastAt ?? startAt;
    return [{ kind: 'run', name: this.#agent, startAt, endAt, endSeq: this.#seq, outcome: status }];
  }

  #call(callId: string): OpenCall {
    const known = this.#calls.get(callId) ?? { tool: 'unknown' };
    this.#calls.set(callId, known);
    return known;
  }
}

type Content = Extract<StoredEvent, { type: 'model-replied' }>['content'];

function toolOf(content: Content, ref: string): string {
  for (const part of content) if ('toolRequest' in part && part.toolRequest.ref === ref) return part.toolRequest.name;
  return 'unknown';
}
