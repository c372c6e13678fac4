import type { Who } from './core/authority/policy.ts';
import { ruleSays } from './core/authority/rule.ts';
import { isRuled } from './loop/call/judge.ts';
// The instance: a model, some settings, and the tools, prompts and agents that are defined on it.

import { UsageError } from './core/errors.ts';
import { defined, isObject } from './core/json.ts';
import type { ToolRequestPart } from './core/messages/message.ts';
import { aString, checkOptions } from './core/options.ts';
import { GATE, GATES } from './core/run/gate-name.ts';
import {
  COUNTERSIGN_OPTIONS,
  type CountersignOptions,
  NOTIFY_OPTIONS,
  REQUEST_HOOKS,
  RETRY_OPTIONS,
} from './countersign-options.ts';
import { type Agent, type AgentConfig, checkAgentConfig, makeAgent } from './loop/agent.ts';
import { Chat, type ChatOptions } from './loop/chat.ts';
import { type GenerateStream, generate, streamed } from './loop/generate.ts';
import { type GenerateOptions, prepareDriver, type Settings, withDefaults } from './loop/options.ts';
import type { GenerateResponse } from './loop/response.ts';
import type { SubAgentRecord } from './loop/sink.ts';
import type {
  Context,
  InterruptConfig,
  PolicyConfig,
  Rule,
  Tool,
  ToolBody,
  ToolConfig,
  ToolDefinition,
  UnknownNames,
} from './loop/tool/definition.ts';
import { checkPolicy, type Policies, refuseUnknownPolicy } from './loop/tool/policies.ts';
import { checkRules } from './loop/tool/rules.ts';
import { asSchema, type InferInput, type InferOutput, type SchemaInput } from './loop/tool/schema.ts';
import { interrupt, tool } from './loop/tool/tool.ts';
import { checkName } from './loop/tool/tool-config.ts';
import { findTools, type InterruptOf, type ToolInput } from './loop/tool/toolbox.ts';
import type { ModelInput } from './models/resolve.ts';
import { DEFAULT_RETRY } from './models/retry.ts';
import { makePrompt, type Prompt, type PromptConfig, promptDefinition } from './prompts/callable.ts';
import type { PromptDefinition, PromptTemplate } from './prompts/definition.ts';
import type { PromptFolder } from './prompts/prompt-folder.ts';
import { randomId, sleep } from './random-id.ts';
import { rememberRuns } from './runs/agent-runs.ts';
import { drillPort } from './runs/drills/drill-agent.ts';
import { checkDrills, type DrillsOptions } from './runs/drills/drill-options.ts';
import { type AppendListener, Appends } from './runs/driving/appends.ts';
import { Drives } from './runs/driving/driving.ts';
import type { AgentPort, DrivesOptions } from './runs/driving/open-run.ts';
import { LEASES_PER_REMINDER, type RemindersOptions } from './runs/driving/reminders.ts';
import { CallGate, ONE_CALL_MODEL } from './runs/gates/call-gate.ts';
import type { ToolDescription } from './runs/gates/described-tool.ts';
import { Gate, type GateOptions } from './runs/gates/gate.ts';
import { Grants } from './runs/grants/grants.ts';
import type { Channel } from './runs/notices/channel.ts';
import { Notices, type NotifyOptions } from './runs/notices/notices.ts';
import { hooksChannel, type RequestHooks } from './runs/notices/on-request.ts';
import { directoryOf } from './runs/people.ts';
import { checkStore } from './runs/port/check-store.ts';
import type { Store } from './runs/port/store.ts';
import { Absences } from './runs/requests/absences.ts';
import { Runs } from './runs/runs.ts';
import { converse, startRun } from './runs/stored-conversation.ts';

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
  readonly #policies = new Map<string, PolicyConfig>();
  readonly #rules: Rule[] = [];
  readonly #defaults: { deciders?: Policies['defaultDeciders'] } = {};
  #hasPolicies = false;
  readonly #prompts = new Map<string, PromptDefinition>();
  readonly #promptDir: string | undefined;
  readonly #agents = new Map<string, AgentPort>();
  readonly #defined = new Map<string, Agent>();
  readonly #appends = new Appends();
  readonly #runs: Runs<C> | undefined;
  readonly #gates = new Map<string, CallGate>();
  #drives: Drives | undefined;
  #notices: Notices | undefined;
  #grants: Grants | undefined;
  readonly #people: Absences | undefined;
  #folder: Promise<PromptFolder> | undefined;
  #isModelMissing = false;

  constructor(options: CountersignOptions<C>) {
    checkOptions('`countersign`', options, COUNTERSIGN_OPTIONS);
    const {
      model,
      providers = {},
      promptDir,
      context,
      maxTurns = 20,
      retry = {},
      newId = randomId,
      store,
      contextFor = () => undefined,
      onReminder,
      drills,
      onEscalation,
      channels = [],
      notify = {},
      people = {},
      rules = [],
      policyFor,
      leaseMs = 7_500,
      graceMs = 10_000,
      maxRunSize = 8_388_608,
      maxRunEvents = 50_000,
      clock = Date.now,
    } = options;
    if (retry !== false) checkOptions('`retry`', retry, RETRY_OPTIONS);
    this.#promptDir = promptDir;
    this.#settings = {
      ...(model !== undefined && { model }),
      providers,
      ...(context !== undefined && { context }),
      maxTurns,
      retry: retry === false ? false : withDefaults(DEFAULT_RETRY, retry),
      tools: this.#tools,
      newId,
      sleep,
      random: Math.random,
      clock,
      policies: {
        named: this.#policies,
        rules: this.#rules,
        defaultDeciders: (run) => this.#defaults.deciders?.(run),
        ...defined({ membersOf: people.membersOf, roles: people.roles, policyFor }),
      },
    };
    checkRules(rules, people.roles);
    this.#hasPolicies ||= rules.length > 0 || policyFor !== undefined;
    this.#rules.push(...rules);
    if (store !== undefined) checkStore(store);
    if (drills !== undefined) checkDrills(drills);
    checkOptions('`notify`', notify, NOTIFY_OPTIONS);
    const runLimit = { size: maxRunSize, events: maxRunEvents };
    this.#people = store && new Absences(store, (person) => people.delegateOf?.(person));
    if (store && this.#people) {
      const directory = directoryOf(people, this.#people);
      const options = { contextFor, leaseMs, graceMs, clock, runLimit, people: directory };
      this.#runs = this.#openRuns(store, options, { onReminder, onEscalation }, drills, notify);
    }
    for (const channel of channels) this.addChannel(channel);
    // Calls that other processes asked about can be decided here.
    if (store) for (const gate of GATES) this.callGate(gate);
  }

  /** Defines a tool, which `tools` can also refer to by name. Without `body`, it is a question like `defineInterrupt`. */
  defineTool<I extends SchemaInput, O extends SchemaInput>(
    config: ToolConfig<I, O, C>,
    body?: ToolBody<I, O, C>,
  ): Tool<InferInput<I>, InferInput<O>> {
    const made = tool(config as ToolConfig<I, O>, body as ToolBody<I, O>);
    this.#checkPolicyOf(made.definition);
    return this.#define(made);
  }

  /**
   * Defines a policy, which `needsApproval: { policy: name }` refers to. Define it before the first run that uses it.
   * @example
   * ai.definePolicy('payments', { notRequester: true, quorum: [{ of: { roles: ['finance'] }, count: 2 }] });
   */
  definePolicy(name: string, config: PolicyConfig<any, C>): void {
    checkPolicy(name, config, this.#settings.policies.roles);
    if (this.#policies.has(name))
      throw new UsageError('invalid-options', { policy: name }, `The policy ${name} is defined already.`);
    this.#policies.set(name, config as PolicyConfig);
    this.#hasPolicies = true;
  }

  /** Who decides requests whose policies name nobody: for servers, before they serve. By default anyone who reaches `runs.decide`. */
  decideByDefault(deciders: (run: { readonly startedBy: string | null }) => Who): void {
    this.#defaults.deciders = deciders;
  }

  /** Whether rules make calls of this tool ask, as far as what the tool declares says. */
  asksByRule({ definition }: { readonly definition: ToolDefinition }): 'always' | 'sometimes' | 'never' {
    const { labels, risk, reversibility } = definition.asks;
    const call = { tool: definition.name, agent: null, input: null, labels, risk, reversibility };
    const asking = this.#rules.filter(({ agent: _any, ...rule }) => {
      const says = isRuled(definition) ? ruleSays(rule, rule.then ?? 'ask', call) : undefined;
      return says !== undefined && says !== 'allow';
    });
    if (asking.length === 0) return 'never';
    return asking.some(({ where, agent }) => !where && agent === undefined) ? 'always' : 'sometimes';
  }

  /** Whether a policy was defined here, by its name or with a tool: then some requests may be for people who did not start them. */
  get hasPolicies(): boolean {
    return this.#hasPolicies;
  }

  /**
   * Adds rules to those of `countersign({ rules })`. All that fit a call count. Define the policies that they
   * name before. For programs that load agents of others, as the command line does with `countersign.config.ts`.
   * @example
   * ai.applyRules([{ reversibility: 'irreversible', policy: 'payments' }, { tool: 'drop_*', then: 'deny' }]);
   */
  applyRules(rules: readonly Rule[]): void {
    checkRules(rules, this.#settings.policies.roles);
    for (const { tool: name, policy } of rules) {
      refuseUnknownPolicy(policy, this.#policies, 'A rule');
      for (const one of [name ?? []].flat()) if (this.#defined.has(one)) throw ruleForAgent(one);
    }
    this.#hasPolicies ||= rules.length > 0;
    this.#rules.push(...rules);
  }

  /** Defines a question: the model calls it to ask, and a person's answer is its result. */
  defineInterrupt<I extends SchemaInput, O extends SchemaInput>(
    config: InterruptConfig<I, O>,
  ): Tool<InferInput<I>, InferInput<O>> {
    return this.#define(interrupt(config));
  }

  /** Runs the model and its tools until it is done or waits for a person. */
  async generate<O extends SchemaInput = any, T extends readonly ToolInput[] = readonly ToolInput[]>(
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
    if (this.#rules.some(({ tool }) => tool === config.name)) throw ruleForAgent(config.name);
    this.#isModelMissing ||= config.model === undefined && this.#settings.model === undefined;
    const starting = this.#makePort(config, 'refuse');
    const agent = this.#define(
      makeAgent(
        config,
        (options, subAgent) => this.#generateFor(starting, options, subAgent),
        (tools, unknown) => findTools(tools, this.#tools, unknown),
        (defaults, input, options) => startRun(this.runs, starting, defaults, input, options),
      ),
    );
    const port = this.#makePort(config, 'leave-out');
    this.#agents.set(config.name, port);
    // Also without drills here: a process that knows the agent must be able to end the drills of others.
    const drills = drillPort(port);
    this.#agents.set(drills.name, drills);
    this.#defined.set(config.name, agent);
    rememberRuns(agent, { port, ...(this.#runs && { runs: this.#runs }) });
    return agent;
  }

  /**
   * Sets the model of agents and calls that have none, if `countersign()` was given none. Returns whether an agent uses it.
   * For programs that load agents of others, as `countersign dev` does.
   */
  useDefaultModel(model: ModelInput): boolean {
    if (this.#settings.model !== undefined) return false;
    this.#settings = { ...this.#settings, model };
    return this.#isModelMissing;
  }

  /** The defined agents, by name. */
  get agents(): ReadonlyMap<string, Agent> {
    return this.#defined;
  }

  /** The stored runs: list, decide, follow, work. Throws `no-store` without a store. */
  get runs(): Runs<C> {
    if (this.#runs) return this.#runs;
    throw new UsageError('no-store', {}, 'Runs live in a store. Pass `store` to countersign().');
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
    const calls = this.callGate(options.name ?? GATE);
    const isTool = typeof tool === 'function';
    if (isTool) this.#checkPolicyOf(tool.definition);
    return new Gate(calls, isTool ? tool.definition : tool);
  }

  /**
   * The runs of one call each, by the name of their agent. For adapters that build on them. `runsBodies`: an approved call also runs
   * with the body of its tool, wherever it is decided in this process.
   */
  callGate(name: string, { runsBodies = false }: { readonly runsBodies?: boolean } = {}): CallGate {
    if (!this.#drives) throw new UsageError('no-store', {}, 'A gate needs a store. Pass `store` to countersign().');
    if (this.#defined.has(name))
      throw new UsageError('invalid-options', { gate: name }, `${name} is an agent. Give the gate another name.`);
    const known = this.#gates.get(name);
    if (known?.runsBodies === runsBodies) return known;
    checkName('gate', name);
    const driver = (context?: Context) =>
      prepareDriver(this.#settings, { model: ONE_CALL_MODEL, ...(context && { context }) }, undefined, 'leave-out');
    const calls = new CallGate(name, this.#drives, driver, runsBodies);
    this.#gates.set(name, calls);
    this.#agents.set(name, calls.port);
    return calls;
  }

  /** The grants of the store: list, read, revoke, simulate. Throws `no-store` without a store. */
  get grants(): Grants {
    this.#grants ??= new Grants(this.runs.store);
    return this.#grants;
  }

  /** Absent people and their delegates. Throws `no-store` without a store. */
  get people(): Absences {
    if (this.#people) return this.#people;
    throw new UsageError('no-store', {}, 'Absences live in a store. Pass `store` to countersign().');
  }

  /** Notices about requests: channels, deliveries, dead letters, preferences. Throws `no-store` without a store. */
  get notices(): Notices {
    if (this.#notices) return this.#notices;
    throw new UsageError('no-store', {}, 'Notices live in a store. Pass `store` to countersign().');
  }

  /** Adds a channel behind those of `countersign({ channels })`, before the first worker of this process starts. */
  addChannel(channel: Channel): void {
    this.notices.add(channel);
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
    this.addChannel(hooksChannel(name, hooks));
  }

  /**
   * Calls `listener` with everything that this process appends to stored runs, and the run, once it is durable. An append
   * with an unknown outcome, because the store disconnected, may be left out. Returns a function that stops it.
   */
  onAppend(listener: AppendListener): () => void {
    return this.#appends.listen(listener);
  }

  /** Defines a prompt from a template or a function; it can be found again with `prompt(name)`. */
  definePrompt<I extends SchemaInput = any, O extends SchemaInput = any>(
    config: PromptConfig<I, O>,
    template?: PromptTemplate<InferOutput<I>>,
  ): Prompt<InferInput<I>, InferOutput<O>> {
    const definition = promptDefinition(config, template);
    const id = promptId(config.name, config.variant);
    if (this.#prompts.has(id))
      throw new UsageError('invalid-options', { prompt: id }, `The prompt ${id} is defined already.`);
    this.#prompts.set(id, definition);
    return this.#callable(id, async () => definition);
  }

  /** Finds a prompt that was defined, or a file in `promptDir`. */
  prompt(name: string, options: { readonly variant?: string } = {}): Prompt {
    const id = promptId(name, options.variant);
    return this.#callable(id, async () => this.#prompts.get(id) ?? this.#fromFolder(name, options));
  }

  async #generate<O extends SchemaInput, Interrupt extends ToolRequestPart>(
    options: string | GenerateOptions<O>,
  ): Promise<GenerateResponse<InferOutput<O>, Interrupt>> {
    if (typeof options === 'object' && options?.runId !== undefined) {
      const message = '`runId` belongs to agents. Use generate or chat of the agent whose run it is.';
      throw new UsageError('invalid-options', { runId: options.runId }, message);
    }
    return generate(this.#settings, options);
  }

  #generateFor(
    agent: AgentPort,
    options: GenerateOptions,
    subAgent: SubAgentRecord | undefined,
  ): Promise<GenerateResponse> {
    const { runId } = options;
    if (runId === undefined) return generate(this.#settings, options, subAgent);
    return converse(this.runs, agent, { ...options, runId });
  }

  #openRuns(
    store: Store,
    options: Pick<DrivesOptions, 'contextFor' | 'leaseMs' | 'graceMs' | 'clock' | 'runLimit' | 'people'>,
    hooks: Pick<RemindersOptions, 'onReminder' | 'onEscalation'>,
    drills: DrillsOptions | undefined,
    notify: NotifyOptions,
  ): Runs<C> {
    const { tell } = this.#appends;
    // Ids of runs and claims must be unique across processes; the user's `newId` may only count.
    const drives = new Drives({ store, agents: this.#agents, newId: randomId, sleep, onAppended: tell, ...options });
    const hasHook = hooks.onReminder !== undefined || hooks.onEscalation !== undefined;
    const reminding = hasHook ? { ...hooks, leaseMs: LEASES_PER_REMINDER * options.leaseMs } : undefined;
    this.#drives = drives;
    this.#notices = new Notices(drives, notify);
    return new Runs(drives, reminding, drills, this.#notices);
  }

  /** Says how the runs of an agent are driven. Names are looked up on use, so that agents can refer to each other. */
  #makePort(config: AgentConfig, unknown: UnknownNames): AgentPort {
    const tools = () => findTools(config.tools, this.#tools, unknown);
    return {
      name: config.name,
      limits: { maxTurns: config.maxTurns ?? this.#settings.maxTurns },
      onEvent: config.onEvent,
      driver: (context) => {
        const schema = config.output && asSchema(config.output.schema, 'output.schema');
        return prepareDriver(this.#settings, { ...config, ...(context && { context }) }, schema, unknown);
      },
      tools,
      defined: () => this.#tools,
    };
  }

  #define<T extends { readonly definition: ToolDefinition }>(made: T): T {
    const { name } = made.definition;
    if (this.#tools.has(name))
      throw new UsageError('duplicate-tool', { tool: name }, `A tool or agent ${name} is defined already.`);
    this.#tools.set(name, made.definition);
    return made;
  }

  /** A name of a policy is looked up when a run starts: a `countersign.config.ts` may define it after the tools. */
  #checkPolicyOf({ needsApproval }: ToolDefinition): void {
    const { policy } = typeof needsApproval === 'object' ? needsApproval : {};
    // A function may name a policy for some inputs.
    this.#hasPolicies ||= policy !== undefined || typeof needsApproval === 'function';
    if (isObject(policy)) checkPolicy(undefined, policy, this.#settings.policies.roles);
  }

  #callable(id: string, load: () => Promise<PromptDefinition>): Prompt {
    return makePrompt(id, load, {
      generate: (options) => this.#generate(options),
      stream: (options, start) => streamed(options as GenerateOptions, start),
      context: () => this.#settings.context,
    });
  }

  async #fromFolder(name: string, options: { readonly variant?: string }): Promise<PromptDefinition> {
    const directory = this.#promptDir;
    if (directory === undefined) {
      const message = `No prompt ${name} is defined, and promptDir is not set.`;
      throw new UsageError('unknown-prompt', { prompt: name }, message);
    }
    this.#folder ??= import('./prompts/prompt-folder.ts').then(({ createPromptFolder }) =>
      createPromptFolder(directory),
    );
    return (await this.#folder).load(name, options);
  }
}

/** An agent asks in its own conversation, so such a rule would have no effect. */
function ruleForAgent(name: string): UsageError {
  const message = `A rule names ${name}, which is an agent. Name the tools of that agent instead.`;
  return new UsageError('invalid-options', { agent: name }, message);
}

const promptId = (name: string, variant: string | undefined): string =>
  variant === undefined ? name : `${name}.${variant}`;
