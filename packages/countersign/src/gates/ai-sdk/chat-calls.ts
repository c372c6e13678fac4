// The calls of one conversation in the gate: recorded under the AI SDK's ids, and decided and run for this person.
import { ConflictError, CountersignError } from '../../core/errors.ts';
import { internalsOf } from '../../core/internals.ts';
import { defined } from '../../core/json.ts';
import type { CallGate, CallRecord } from '../../runs/gates/call-gate.ts';
import { descriptionOf } from '../../runs/gates/described-tool.ts';
import { requestKey } from '../../runs/requests/card.ts';
import type { DecisionInput } from '../../runs/requests/decision.ts';
import type { GateToolsOptions } from '../gated-calls.ts';
import type { AskedCall, Place } from './ledger.ts';
import { isGivenUp, type RecordedCall } from './recorded-call.ts';
import { type Body, bodyOf, type SdkTools } from './sdk-tools.ts';

export class ChatCalls {
  readonly #gate: CallGate;
  readonly #tools: SdkTools;
  readonly #options: GateToolsOptions<any>;

  constructor(tools: SdkTools, options: GateToolsOptions<any>) {
    this.#tools = tools;
    this.#options = options;
    this.#gate = internalsOf(options.ai).callGate(options.name ?? 'ai-sdk');
  }

  /** `round` counts the calls that got the same id from regenerated replies. */
  #keyOf(id: string, round: number): string {
    return JSON.stringify([this.#options.key, id, ...(round === 0 ? [] : [round])]);
  }

  /** Records the call, or returns the run of the call that has its id in this round. */
  async start({ id, tool, input }: AskedCall, round: number, place: Place | undefined): Promise<string | undefined> {
    const { key: conversation, by } = this.#options;
    const definition = await this.#tools.definition(tool);
    const key = this.#keyOf(id, round);
    const runId = this.#gate.runIdOf(key);
    if (definition) this.#gate.bring(key, definition);
    const opening = defined({ key, conversation, place, tool: definition && descriptionOf(definition) });
    const asked = { tool, input, ref: id, metadata: { toolCallId: id } };
    try {
      await this.#gate.start(runId, opening as unknown as CallRecord['opening'], asked, defined({ by }));
      return undefined;
    } catch (error) {
      if (error instanceof ConflictError && error.code === 'run-exists') return runId;
      throw error;
    }
  }

  /** The key of the notes about calls with this id. */
  noteOf(id: string): string {
    return this.#gate.runIdOf(this.#keyOf(id, 0));
  }

  /** The latest call with this id. */
  async find(id: string): Promise<RecordedCall | undefined> {
    let last: RecordedCall | undefined;
    for (let round = 0; ; round++) {
      const found = await this.read(this.#gate.runIdOf(this.#keyOf(id, round)));
      if (!found) return last;
      if (!isGivenUp(found)) return found;
      last = found;
    }
  }

  async read(runId: string): Promise<RecordedCall | undefined> {
    const found = await this.#gate.read(runId);
    return found && this.#recorded(found);
  }

  /** The call once nothing happens to it by itself: it was asked about, or its deadline has decided. */
  async settled(runId: string): Promise<RecordedCall> {
    return this.#recorded(await this.#gate.settled(runId));
  }

  /** Runs the approved call, with this body or that of its tool. Without any, it stays as it is. */
  async drive(found: RecordedCall, body?: Body): Promise<RecordedCall> {
    const { runId, call } = found;
    if (!body && !this.#tools.hasBody(call.tool)) return found;
    const caller = body ? { body: bodyOf(body) } : {};
    return this.#recorded(await this.#gate.settled(runId, { caller }));
  }

  /** Records the decision, unless somebody else or the deadline was first, or the policy does not take it from this person. */
  async decide({ runId, status }: RecordedCall, decision: DecisionInput): Promise<void> {
    if (status.at !== 'waiting') return;
    const { ai, by } = this.#options;
    // An approved call runs when the AI SDK calls it, with its options. Everything else is over.
    const how = { ...defined({ by }), channel: 'chat', drive: decision !== 'approve' };
    try {
      await ai.runs.decide(requestKey(runId, status.requestId), decision, how);
    } catch (error) {
      if (!(error instanceof CountersignError && NOT_RECORDED.has(error.code))) throw error;
    }
  }

  /** An approved call will not run. One that has started stays as it is. */
  async withdraw(runId: string, reason: string): Promise<RecordedCall> {
    return this.#recorded(await this.#gate.withdraw(runId, { reason }));
  }

  /** The conversation went on without this call. A person who may not decide it withdraws it. */
  async giveUp(found: RecordedCall, reason: string): Promise<void> {
    await this.decide(found, { type: 'cancel', reason });
    if ((await this.read(found.runId))?.status.at === 'waiting') await this.withdraw(found.runId, reason);
  }

  /** The pending calls of this conversation that this person asked for, with such ids. */
  async pending(isWanted: (callId: string) => boolean): Promise<readonly RecordedCall[]> {
    const { ai, key, by } = this.#options;
    const found: RecordedCall[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await ai.runs.requests({
        label: this.#tools.label,
        agent: this.#gate.name,
        ...defined({ cursor }),
      });
      for (const { runId, part } of page.items) {
        const record = isWanted(part.toolRequest.ref) ? await this.#gate.read(runId) : undefined;
        if (record?.opening.conversation !== key || record?.run.startedBy !== by) continue;
        found.push(await this.#recorded(record));
      }
      cursor = page.cursor;
    }
    return found;
  }

  /** An open call gets the tool of this request. */
  async #recorded({ run, opening, tool, ref: id, input, edited, status, people }: CallRecord): Promise<RecordedCall> {
    const isMine = people.has(this.#options.by ?? null);
    const definition = isMine && status.at !== 'settled' ? await this.#tools.definition(tool) : undefined;
    if (definition) this.#gate.bring(String(opening.key), definition);
    const call = { id, tool, input };
    return { runId: run.id, opening, call, edited: { ...call, input: edited }, status, isMine };
  }
}

const NOT_RECORDED: ReadonlySet<string> = new Set(['already-decided', 'not-allowed', 'signature-required']);
