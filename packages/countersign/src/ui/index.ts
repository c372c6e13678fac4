// The door `countersign/ui`: the types of what travels to a browser.
export type { Allowed, CardDecision, InterruptCard, Problem } from './card.ts';
