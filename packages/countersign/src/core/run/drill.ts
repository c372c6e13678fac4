// Drills: requests that must be rejected, which check that people read before they approve. The run of a drill belongs to an
// agent that no one can define, whose tools have no bodies. So its record says that it is a drill, and nothing can run in it.

/** Not allowed in the names of agents. */
const MARK = 'drill~';

/** The agent of drills that look like requests of this agent. */
export const drillAgent = (agent: string): string => `${MARK}${agent}`;

export const isDrill = ({ agent }: { readonly agent: string }): boolean => agent.startsWith(MARK);

/** Marks the view of a settled drill. */
export const drillMark = (of: { readonly agent: string }): { readonly drill?: true } =>
  isDrill(of) ? { drill: true } : {};

const UNDO_MARK = 'undo~';

/** The agent of the runs that undo calls of this agent. Nobody can define it either. */
export const undoAgent = (agent: string): string => `${UNDO_MARK}${agent}`;

/** The agent that people see: a drill must not be recognizable before it is decided. */
export const shownAgent = (agent: string): string =>
  agent.startsWith(MARK) || agent.startsWith(UNDO_MARK) ? agent.slice(agent.indexOf('~') + 1) : agent;
