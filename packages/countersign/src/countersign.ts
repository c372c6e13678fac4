// The instance: a model, some settings, and the tools, prompts and agents that are defined on it.

import type { PlanStep } from './core/authority/grants/plan.ts';
import { UsageError } from './core/errors.ts';
import { INTERNALS, internalsOf } from './core/internals.ts';
import type { ToolRequestPart } from './core/messages/message.ts';
import { aString, checkOptions } from './core/options.ts';
import type { Outer } from './core/origin/search.ts';
import { GATE } from './core/run/gate-name.ts';
import { type CountersignOptions, checkCountersignOptions, REQUEST_HOOKS, settingsOf } from './countersign-options.ts';
import type { InstanceInternals } from './instance-internals.ts';
import { type Agent, type AgentConfig, checkAgentConfig, makeAgent } from './loop/agent.ts';
import { type PlanOptions, planDefinition } from './loop/call/plan.ts';
import { Chat, type ChatOptions } from './loop/chat.ts';
import { type GenerateStream, generate, streamed } from './loop/generate.ts';
import { type GenerateOptions, prepareDriver, type Settings } from './loop/options.ts';
import type { GenerateResponse } from './loop/response.ts';
import { modelReviewer, type ReviewerOptions } from './loop/reviewer.ts';
import type { SubAgentRecord } from './loop/sink.ts';
import type {
  Context,
  InterruptConfig,
  PolicyConfig,
  PolicyHandle,
  Reviewer,
  Rule,
  Tool,
  ToolBody,
  ToolConfig,
  ToolDefinition,
} from './loop/tool/definition.ts';
import { PolicyBook } from './loop/tool/policy-book.ts';
import type { InferInput, InferOutput, SchemaInput } from './loop/tool/schema.ts';
import { interrupt, makeTool, tool } from './loop/tool/tool.ts';
import { findTools, givenTools, type InterruptOf, type ToolInput } from './loop/tool/toolbox.ts';
import { openStore, type Stored } from './open-store.ts';
import type { Prompt, PromptConfig } from './prompts/callable.ts';
import type { PromptTemplate } from './prompts/definition.ts';
import { PromptBook } from './prompts/prompt-book.ts';
import type { Absences } from './runs/absences.ts';
import { rememberRuns } from './runs/agent-runs.ts';
import { drillPort } from './runs/drills/drill-agent.ts';
import { agentPort } from './runs/driving/agent-port.ts';
import type { AgentPort } from './runs/driving/open-run.ts';
import type { Freezes } from './runs/freezes/freezes.ts';
import { ONE_CALL_MODEL } from './runs/gates/call-gate.ts';
import type { ToolDescription } from './runs/gates/described-tool.ts';
import { Gate, type GateOptions } from './runs/gates/gate.ts';
import { Gates } from './runs/gates/gates.ts';
import { observeCall } from './runs/gates/observe.ts';
import { grantId } from './runs/grants/give.ts';
import { type Grants, grantsNamed } from './runs/grants/grants.ts';
import type { Notices } from './runs/notices/notices.ts';
import { hooksChannel, type RequestHooks } from './runs/notices/on-request.ts';
import type { Runs } from './runs/runs.ts';
import { converse, startRun } from './runs/stored-conversation.ts';
import { undoPort } from './runs/undo/undo-port.ts';

/**
 * Makes an instance. The type argument, if given, types `context` in everything that is defined on the instance.
 * @example
 * const ai = countersign<{ userId: string }>({ model: openai('gpt-5') });
 * const response = await ai.generate({ prompt: 'Plan a barbecue.', context: { userId: 'ann' } });
 */
export function countersign<C extends Context = Context>(options: CountersignOptions<C> = {}): Countersign<C> {
  return new Countersign(options);
}

/** An instance, made by `countersign()`. It generates, and finds tools, prompts and agents by name. */
export class Countersign<C extends Context = Context> {
  #settings: Settings;
  readonly #tools = new Map<string, ToolDefinition>();
  readonly #policies: PolicyBook;
  readonly #prompts: PromptBook;
  readonly #ports = new Map<string, AgentPort>();
  readonly #agents = new Map<string, Agent>();
  readonly #stored: Stored<C> | undefined;
  readonly #gates: Gates | undefined;
  #isModelMissing = false;

  constructor(options: CountersignOptions<C>) {
    checkCountersignOptions(options);
    const { promptDir, store, channels = [], people = {}, rules = [] } = options;
    this.#policies = new PolicyBook(rules, people.roles);
    this.#settings = settingsOf(options, this.#tools, this.#policies);
    this.#prompts = new PromptBook(promptDir, {
      generate: (given) => this.#generate(given),
      stream: (given, start) => streamed(given as GenerateOptions, start),
      context: () => this.#settings.context,
    });
    if (store) {
      this.#stored = openStore(store, options, this.#ports);
      const driver = (context?: Context) =>
        prepareDriver(this.#settings, { model: ONE_CALL_MODEL, ...(context && { context }) }, undefined, 'leave-out');
      this.#gates = new Gates(this.#stored.drives, driver, this.#ports, this.#agents, (name) => this.#tools.get(name));
    }
    for (const channel of channels) this.notices.add(channel);
  }

  /** @internal */
  get [INTERNALS](): InstanceInternals {
    return {
      policies: this.#policies,
      callGate: (name) => this.#needed(this.#gates, 'A gate needs').named(name),
      onAppend: (listener) => this.#needed(this.#stored, 'Runs live in').appends.listen(listener),
      observeCall: (gate, ...call) => observeCall(this.#needed(this.#gates, 'A gate needs').named(gate), ...call),
      peopleCalled: (name) => this.notices.peopleCalled(name),
      grantIdOf: grantId,
      grantsNamed: (ids) => grantsNamed(this.runs.store, ids),
      useDefaultModel: (model) => {
        if (this.#settings.model !== undefined) return false;
        this.#settings = { ...this.#settings, model };
        return this.#isModelMissing;
      },
    };
  }

  /** Defines a tool, which `tools` can also refer to by name. Without `body`, it is a request like `defineInterrupt`. */
  defineTool<I extends SchemaInput, O extends SchemaInput>(
    config: ToolConfig<I, O, C>,
    body?: ToolBody<I, O, C>,
  ): Tool<InferInput<I>, InferInput<O>> {
    const made = tool(config as ToolConfig<I, O>, body as ToolBody<I, O>);
    this.#policies.checkTool(made.definition);
    return this.#define(made);
  }

  /**
   * Defines a policy, and returns its name for `needsApproval: { policy }`, rules and gates. Define it before the first run that uses it.
   * @example
   * const payments = ai.definePolicy('payments', { notRequester: true, quorum: [{ of: { roles: ['finance'] }, count: 2 }] });
   */
  definePolicy<Input = any>(name: string, config: PolicyConfig<Input, C>): PolicyHandle<Input> {
    this.#policies.define(name, config as PolicyConfig);
    return name;
  }

  /**
   * Adds rules to those of `countersign({ rules })`. All that fit a call count. Define the policies that they
   * name before. For programs that load agents of others, as the command line does with `countersign.config.ts`.
   * @example
   * ai.applyRules([{ reversibility: 'irreversible', policy: 'payments' }, { tool: 'drop_*', then: 'deny' }]);
   */
  applyRules(rules: readonly Rule[]): void {
    this.#policies.apply(rules, this.#agents);
  }

  /**
   * Makes a reviewer for the `review` of a policy: a model that reads calls as data. What it finds is advice for the people who decide.
   * @example
   * ai.definePolicy('payments', { review: ai.reviewer({ instructions: 'Warn of payees that look unusual.' }) });
   */
  reviewer(options: ReviewerOptions): Reviewer {
    return modelReviewer(() => this.#settings, options);
  }

  /**
   * Makes a tool with which an agent proposes several calls of these tools. People approve them as one request; then each runs once
   * without another, with exactly the approved input.
   * @example
   * const agent = ai.defineAgent({ name: 'buyer', tools: [order, pay, ai.planTool({ tools: [order, pay] })] });
   */
  planTool(
    options: PlanOptions & { readonly tools: readonly ToolInput[] },
  ): Tool<{ readonly steps: readonly PlanStep[] }> {
    const { tools, ...rest } = options ?? {};
    return makeTool(planDefinition(() => findTools(tools, this.#tools), rest));
  }

  /** Defines a request: the model calls it to ask, and a person's answer is its result. */
  defineInterrupt<I extends SchemaInput, O extends SchemaInput>(
    config: InterruptConfig<I, O>,
  ): Tool<InferInput<I>, InferInput<O>> {
    return this.#define(interrupt(config));
  }

  /** Runs the model and its tools until it is done or waits for a person. */
  generate<O extends SchemaInput = any, T extends readonly ToolInput[] = readonly ToolInput[]>(
    options: string | GenerateOptions<O, T, C>,
  ): Promise<GenerateResponse<InferOutput<O>, InterruptOf<T>>> {
    return this.#generate(options);
  }

  /** Like `generate`, with a stream of chunks. */
  generateStream<O extends SchemaInput = any, T extends readonly ToolInput[] = readonly ToolInput[]>(
    options: string | GenerateOptions<O, T, C>,
  ): GenerateStream<InferOutput<O>, InterruptOf<T>> {
    return streamed(options, (streaming) => this.#generate(streaming));
  }

  /** Starts a conversation that keeps its messages. */
  chat<T extends readonly ToolInput[] = readonly ToolInput[]>(options?: ChatOptions<C, T>): Chat<C, InterruptOf<T>> {
    return new Chat((given) => this.#generate(given), options);
  }

  /** Defines an agent: a named configuration. In another agent's `tools` it is a sub-agent. */
  defineAgent<
    I extends SchemaInput = any,
    O extends SchemaInput = any,
    T extends readonly ToolInput[] = readonly ToolInput[],
  >(config: AgentConfig<I, O, T, C>): Agent<InferOutput<O>, InterruptOf<T>, C> {
    checkAgentConfig(config);
    this.#policies.checkAgent(config.name);
    this.#policies.checkTools(givenTools(config.tools));
    this.#isModelMissing ||= config.model === undefined && this.#settings.model === undefined;
    const settings = () => this.#settings;
    const starting = agentPort(config, settings, 'refuse');
    const agent = this.#define(
      makeAgent(
        config,
        (options, ...inside) => this.#generateFor(starting, options, ...inside),
        (tools, unknown) => findTools(tools, this.#tools, unknown),
        (defaults, input, options) => startRun(internalsOf(this.runs), starting, defaults, input, options),
      ),
    );
    const port = agentPort(config, settings, 'leave-out');
    this.#ports.set(config.name, port);
    // Also without drills here: a process that knows the agent must be able to end the drills of others.
    const drills = drillPort(port);
    this.#ports.set(drills.name, drills);
    const undos = undoPort(port, (name) => port.tools().get(name) ?? port.defined().get(name));
    this.#ports.set(undos.name, undos);
    this.#agents.set(config.name, agent);
    rememberRuns(agent, { port, ...(this.#stored && { runs: this.#stored.runs }) });
    return agent;
  }

  /** The defined agents, by name. */
  get agents(): ReadonlyMap<string, Agent> {
    return this.#agents;
  }

  /** The stored runs: list, decide, follow, work. Throws `no-store` without a store. */
  get runs(): Runs<C> {
    return this.#needed(this.#stored, 'Runs live in').runs;
  }

  /**
   * Puts a gate in front of a tool, for calls that are not part of a run: of another framework, a script, a job. A plain description
   * instead of a tool is for callers that run the body themselves. Throws `no-store` without a store.
   * @example
   * const gate = ai.gate(pay);
   * const result = await gate.run({ to: 'ACME', amount: 950 }, { key: 'invoice-7', by: 'ada' });
   */
  gate<Input = any, Output = any>(
    tool: Tool<Input, Output> | ToolDescription,
    options: GateOptions = {},
  ): Gate<Input, Output> {
    checkOptions('`gate`', options, { name: aString });
    const calls = this.#needed(this.#gates, 'A gate needs').named(options.name ?? GATE);
    const isTool = typeof tool === 'function';
    if (isTool) this.#policies.checkTool(tool.definition);
    return new Gate(calls, isTool ? tool.definition : tool);
  }

  /** The grants of the store: list, read, revoke, simulate. Throws `no-store` without a store. */
  get grants(): Grants {
    return this.#needed(this.#stored, 'Grants live in').grants;
  }

  /** What is frozen: freeze calls, lift a freeze. Once `freeze` resolves, no call that it covers starts. Throws `no-store` without a store. */
  get freezes(): Freezes {
    return this.#needed(this.#stored, 'Freezes live in').freezes;
  }

  /** Absent people and their delegates. Throws `no-store` without a store. */
  get people(): Absences {
    return this.#needed(this.#stored, 'Absences live in').people;
  }

  /** Notices about requests: channels, deliveries, dead letters, preferences. Throws `no-store` without a store. */
  get notices(): Notices {
    return this.#needed(this.#stored, 'Notices live in').notices;
  }

  /**
   * Calls hooks when something happens to a request, in any process: at least once each, usually exactly once, and in order.
   * Workers of processes with hooks call them. An error is retried with growing pauses. What was called is recorded under
   * `name`, so keep it across releases.
   * @example
   * ai.onRequest('metrics', { opened: ({ tool }) => count(tool), decided: ({ settlement }) => log(settlement) });
   */
  onRequest(name: string, hooks: RequestHooks): void {
    checkOptions('`onRequest`', hooks, REQUEST_HOOKS);
    this.notices.add(hooksChannel(name, hooks));
  }

  /** Defines a prompt from a template or a function; it can be found again with `prompt(name)`. */
  definePrompt<I extends SchemaInput = any, O extends SchemaInput = any>(
    config: PromptConfig<I, O>,
    template?: PromptTemplate<InferOutput<I>>,
  ): Prompt<InferInput<I>, InferOutput<O>> {
    return this.#prompts.define(config, template);
  }

  /** Finds a prompt that was defined, or a file in `promptDir`. */
  prompt(name: string, options: { readonly variant?: string } = {}): Prompt {
    return this.#prompts.find(name, options);
  }

  #generate<O extends SchemaInput, Interrupt extends ToolRequestPart>(
    options: string | GenerateOptions<O>,
  ): Promise<GenerateResponse<InferOutput<O>, Interrupt>> {
    if (typeof options === 'object' && options?.runId !== undefined) {
      const message = '`runId` belongs to agents. Use generate or chat of the agent whose run it is.';
      return Promise.reject(new UsageError('invalid-options', { runId: options.runId }, message));
    }
    return generate(this.#settings, options);
  }

  #generateFor(
    agent: AgentPort,
    options: GenerateOptions,
    ...inside: readonly [SubAgentRecord?, Outer?]
  ): Promise<GenerateResponse> {
    const { runId } = options;
    if (runId === undefined) return generate(this.#settings, options, ...inside);
    return converse(internalsOf(this.runs), agent, { ...options, runId });
  }

  #define<T extends { readonly definition: ToolDefinition }>(made: T): T {
    const { name } = made.definition;
    if (this.#tools.has(name))
      throw new UsageError('duplicate-tool', { tool: name }, `A tool or agent ${name} is defined already.`);
    this.#tools.set(name, made.definition);
    return made;
  }

  #needed<T>(part: T | undefined, what: string): T {
    if (part !== undefined) return part;
    throw new UsageError('no-store', {}, `${what} a store. Pass \`store\` to countersign().`);
  }
}
