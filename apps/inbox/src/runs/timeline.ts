// The timeline as steps: what the user said, each turn of the model, each call, and how the run ended.
import { addUsage, timelineOf as entriesOf, type TimelineEntry, type Usage } from 'countersign/request';
import type { RunEvent } from '../api/wire.ts';

/** A step with a duration. `to` is null until it ends. */
export type Span = {
  /** `turn`: the model thinks and speaks. `wait`: a person has not decided. `work`: the tool runs. */
  readonly is: 'turn' | 'wait' | 'work';
  readonly title: string;
  readonly from: number;
  readonly to: number | null;
};

/** A step without a duration. */
export type Mark = {
  readonly is: 'said' | 'approved' | 'edited' | 'rejected' | 'answered' | 'cancelled' | 'failed' | 'ended';
  readonly title: string;
  readonly at: number;
  /** What the decider told the model. */
  readonly reason?: string;
  /** What the decider wanted the team to know. */
  readonly note?: string;
};

/** A value of a step that can be looked at. */
export type Fact = { readonly name: string; readonly value: unknown };

/** One row of the timeline. */
export type Step = {
  readonly id: string;
  readonly is: 'message' | 'turn' | 'call' | 'end';
  /** Of a call: the name of its tool, after those of the sub-agents that it is in. */
  readonly name: string;
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
  readonly facts: readonly Fact[];
  /** The tokens of a turn, or of the sub-agent in a call. */
  readonly usage: Usage | null;
  /** The requests of a call, by their ids. */
  readonly requests: readonly string[];
  /** The recorded events that it consists of. */
  readonly events: readonly RunEvent[];
};

export type Timeline = {
  readonly steps: readonly Step[];
  readonly from: number;
  /** When the last event happened. */
  readonly to: number;
};

type Row = {
  readonly id: string;
  readonly is: Step['is'];
  readonly name: string;
  readonly spans: Span[];
  readonly marks: Mark[];
  readonly facts: Fact[];
  usage: Usage | null;
  readonly requests: string[];
  readonly events: RunEvent[];
};

/** Undefined if no times were recorded. `nameOf`: what people are called. */
export function timelineOf(events: readonly RunEvent[], nameOf: NameOf = (id) => id): Timeline | undefined {
  const timed = events.filter((event) => typeof event.at === 'number');
  const [first] = timed;
  const last = timed.at(-1);
  if (!first || !last) return undefined;
  const rows: Row[] = [];
  const calls = new Map<string, Row>();
  let turns = 0;
  const add = (is: Step['is'], name: string, id = `${is} ${rows.length}`): Row => {
    const row: Row = { id, is, name, spans: [], marks: [], facts: [], usage: null, requests: [], events: [] };
    rows.push(row);
    return row;
  };
  /** The row that an entry of the run itself belongs to. A sub-agent's conversation is shown by the rows of its calls. */
  function rowOf(entry: TimelineEntry): Row | undefined {
    if ('call' in entry) return calls.get(entry.call.id);
    if (entry.path.length > 0) return undefined;
    if (entry.type === 'user-spoke') return add('message', 'User message');
    if (entry.type !== 'model-replied') return add('end', 'Run');
    turns += 1;
    return add('turn', `Turn ${turns}`);
  }
  for (const entry of entriesOf(timed)) {
    const event = timed[entry.seq - 1] as RunEvent;
    const row = rowOf(entry);
    if (row) {
      if (row.events.at(-1) !== event) row.events.push(event);
      draw(row, entry, event, nameOf);
    }
    if (entry.type === 'model-replied') {
      // The tokens of a sub-agent are shown with its call.
      const used = row ?? calls.get(entry.path.at(-1)?.id ?? '');
      if (used && entry.usage) used.usage = addUsage(used.usage ?? undefined, entry.usage) ?? null;
      const path = entry.path.map(({ name }) => `${name} › `).join('');
      const inputs = entry.content.flatMap((part) => ('toolRequest' in part ? [part.toolRequest?.input] : []));
      for (const [index, { id, name }] of entry.calls.entries()) {
        const call = add('call', `${path}${name}`, id);
        if (inputs.length === entry.calls.length) call.facts.push({ name: 'Input', value: inputs[index] });
        calls.set(id, call);
      }
    }
  }
  return { steps: rows, from: first.at as number, to: last.at as number };
}

/** Returns the name of a person, with their id. */
export type NameOf = (id: string) => string;

function draw(row: Row, entry: TimelineEntry, event: RunEvent, nameOf: NameOf): void {
  const { at } = entry;
  const mark = (is: Mark['is'], title: string) => row.marks.push({ is, title, at });
  switch (entry.type) {
    case 'user-spoke':
      mark('said', 'User message');
      row.facts.push(...textFacts(entry.messages?.flatMap(({ content }) => content as readonly Part[]) ?? []));
      break;
    case 'model-replied':
      row.spans.push({ is: 'turn', title: row.name, from: entry.startedAt, to: at });
      row.facts.push(...textFacts(entry.content as readonly Part[]));
      if (entry.calls.length > 0) row.facts.push({ name: 'Calls', value: entry.calls.map(({ name }) => name) });
      // A reply without calls ends the run; the user's next message continues it.
      if (entry.finishReason === 'stop' && entry.calls.length === 0) mark('ended', 'Completed');
      break;
    case 'call-started':
      begin(row, { is: 'work', title: 'Runs', from: at, to: null });
      break;
    case 'wait-started':
      row.requests.push(entry.request.id);
      begin(row, { is: 'wait', title: 'Waiting for approval', from: at, to: null });
      break;
    case 'wait-ended':
      end(row, at);
      if (entry.decision) {
        row.marks.push(decisionMark(entry.decision, at, nameOf));
        if ('input' in entry.decision) row.facts.push({ name: 'Edited input', value: entry.decision.input });
      }
      break;
    case 'call-ended':
      end(row, at);
      if (entry.result?.type === 'output') row.facts.push({ name: 'Output', value: entry.result.output });
      else if (entry.result) row.facts.push({ name: 'Result for the model', value: entry.result.text });
      if (entry.result?.type === 'error') mark('failed', 'Tool failed');
      break;
    case 'late-result':
      mark('failed', 'An earlier attempt finished late');
      break;
    case 'run-failed':
      mark('failed', 'Run failed');
      if (entry.message !== null) row.facts.push({ name: 'Error', value: entry.message });
      break;
    case 'run-continued':
      mark('said', 'Run resumed');
      break;
    case 'run-ended':
      mark('ended', `Run ended: ${entry.reason}`);
      break;
    case 'vote-cast': {
      const { by, onBehalfOf, note } = entry.vote;
      const voter = by === null ? 'someone' : nameOf(by);
      const name = onBehalfOf === undefined ? voter : `${voter} for ${nameOf(onBehalfOf)}`;
      row.marks.push({ is: 'said', title: `Vote of ${name}: ${voteWord(entry)}`, at, ...(note ? { note } : {}) });
      if (entry.edit !== undefined) row.facts.push({ name: `Edit by ${name}`, value: entry.edit });
      break;
    }
    case 'request-escalated':
      mark('said', `Escalated to ${[...(entry.to.people ?? []).map(nameOf), ...(entry.to.roles ?? [])].join(', ')}`);
      break;
    case 'request-assigned':
      mark('said', entry.to === null ? 'Assigned to nobody' : `Assigned to ${nameOf(entry.to)}`);
      break;
    case 'request-commented':
      row.marks.push({ is: 'said', title: `Comment of ${nameOf(entry.by)}`, at, note: entry.text });
      break;
    case 'votes-withdrawn': {
      const title = `Votes of ${nameOf(entry.of)} count no longer: they were removed`;
      row.marks.push({ is: 'said', title, at, ...(entry.reason !== undefined && { note: entry.reason }) });
      break;
    }
    case 'policy-applied':
      mark('said', `Policy ${entry.policies.flatMap(({ name }) => name ?? []).join(' + ')} applied again`);
      break;
    case 'step-done':
      row.facts.push({ name: `Step ${entry.step}`, value: event.type === 'step-done' ? event.output : 'done' });
      break;
    case 'call-granted':
      mark('approved', `Allowed by a grant${entry.by === undefined ? '' : ` of ${nameOf(entry.by)}`}`);
      row.requests.push(entry.as);
      row.facts.push({ name: 'Grant', value: entry.grantId });
      break;
    case 'call-observed':
      mark('said', `Ran unasked; would have asked: ${entry.why.join('; ')}`);
      row.requests.push(entry.as);
      break;
    case 'call-cleared':
      if (entry.as === undefined) mark('said', 'May run; waits for its caller');
      else {
        mark('approved', 'Allowed by a rule');
        row.requests.push(entry.as);
      }
      break;
    case 'call-frozen':
      mark('said', `Frozen: ${entry.freeze.reason}`);
      break;
    // These are part of a span that is shown.
    case 'call-committed':
    case 'call-held':
  }
}

type Part = { readonly [name: string]: unknown };

function textFacts(content: readonly Part[]): readonly Fact[] {
  const joined = (texts: readonly unknown[]) =>
    texts.filter((text) => typeof text === 'string' && text !== '').join('\n\n');
  const [thoughts, text] = [joined(content.map((part) => part.reasoning)), joined(content.map((part) => part.text))];
  return [
    ...(thoughts === '' ? [] : [{ name: 'Thoughts', value: thoughts }]),
    ...(text === '' ? [] : [{ name: 'Text', value: text }]),
  ];
}

type Decision = NonNullable<Extract<TimelineEntry, { type: 'wait-ended' }>['decision']>;

function voteWord({ vote, edit }: Extract<TimelineEntry, { type: 'vote-cast' }>): string {
  if (edit !== undefined) return 'edit';
  const { type } = (vote.decision ?? {}) as { readonly type?: unknown };
  return String(type ?? 'decision');
}

function begin(row: Row, span: Span): void {
  end(row, span.from);
  row.spans.push(span);
}

function end(row: Row, at: number): void {
  const span = row.spans.at(-1);
  if (span && span.to === null) row.spans[row.spans.length - 1] = { ...span, to: at };
}

const MARKS = {
  approve: ['approved', 'Approved'],
  restart: ['approved', 'Continued'],
  respond: ['answered', 'Answered'],
  reject: ['rejected', 'Rejected'],
  revise: ['edited', 'Changes asked for'],
  cancel: ['cancelled', 'Cancelled'],
  inside: ['approved', 'Decided inside'],
} as const;

function decisionMark(decision: Decision, at: number, nameOf: NameOf): Mark {
  const isEdited = decision.type === 'approve' && 'input' in decision;
  const [is, word] = isEdited ? (['edited', 'Approved with changes'] as const) : MARKS[decision.type];
  const by = decision.by === undefined ? '' : ` by ${nameOf(decision.by)}`;
  return {
    is,
    title: `${word}${by}`,
    at,
    ...('reason' in decision && decision.reason ? { reason: decision.reason } : {}),
    ...(decision.type === 'revise' ? { reason: decision.comment } : {}),
    ...(decision.note ? { note: decision.note } : {}),
  };
}
