// A run that is not stored: its caller keeps the messages and is its only writer.
import type { Call } from '../core/call.ts';
import { event } from '../core/event.ts';
import type { Message } from '../core/message.ts';
import { Run } from './run.ts';
import type { ToolDefinition } from './tool/definition.ts';

export class StatelessRun extends Run {
  override start({ commits }: ToolDefinition, call: Call): boolean {
    this.record(event({ type: 'call-started', callId: call.id, ...(commits && { commits: true as const }) }));
    return true;
  }

  override begun(call: Call): Call {
    return call;
  }

  override checkHold(): void {}

  override isSuperseded(): boolean {
    return false;
  }

  /** `generate` has refused to continue without the tools of approved calls. */
  override waitsForTool(): boolean {
    return false;
  }

  override keepsDecision(): boolean {
    return false;
  }

  override isUndecided({ phase }: Call): boolean {
    return phase.at !== 'settled' && phase.at !== 'cleared';
  }

  override subAgentRecord(): undefined {
    return undefined;
  }

  override askAgain(messages: readonly Message[]): readonly Message[] {
    return messages;
  }

  protected override write(): void {}
}
