// The gates of an instance, by the name of the agent that their calls are recorded under.
import { UsageError } from '../../core/errors.ts';
import { GATES } from '../../core/run/gate-name.ts';
import type { Driver } from '../../loop/run.ts';
import type { Context, ToolDefinition } from '../../loop/tool/definition.ts';
import { checkName } from '../../loop/tool/tool-config.ts';
import type { Drives } from '../driving/driving.ts';
import type { AgentPort } from '../driving/open-run.ts';
import { undoPort } from '../undo/undo-port.ts';
import { CallGate } from './call-gate.ts';

export class Gates {
  readonly #drives: Drives;
  readonly #driver: (context: Context | undefined) => Driver;
  readonly #ports: Map<string, AgentPort>;
  readonly #toolNamed: (name: string) => ToolDefinition | undefined;
  readonly #agents: ReadonlyMap<string, unknown>;
  readonly #gates = new Map<string, CallGate>();

  /** `ports` gets the port of each gate, so that its calls can be driven. `agents` are the names that gates cannot have. */
  constructor(
    drives: Drives,
    driver: (context: Context | undefined) => Driver,
    ports: Map<string, AgentPort>,
    agents: ReadonlyMap<string, unknown>,
    toolNamed: (name: string) => ToolDefinition | undefined,
  ) {
    this.#toolNamed = toolNamed;
    this.#drives = drives;
    this.#driver = driver;
    this.#ports = ports;
    this.#agents = agents;
    // Calls that other processes asked about can be decided here.
    for (const name of GATES) this.named(name);
  }

  named(name: string): CallGate {
    if (this.#agents.has(name))
      throw new UsageError('invalid-options', { gate: name }, `${name} is an agent. Give the gate another name.`);
    const known = this.#gates.get(name);
    if (known) return known;
    checkName('gate', name);
    const calls = new CallGate(name, this.#drives, this.#driver);
    this.#gates.set(name, calls);
    this.#ports.set(name, calls.port);
    const undos = undoPort(calls.port, this.#toolNamed);
    this.#ports.set(undos.name, undos);
    return calls;
  }
}
