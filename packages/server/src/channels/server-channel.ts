// A channel that people also answer through: the server passes it what arrives at its address.
import type { Channel, DecideResult, DecisionInput } from 'countersign';
import type { Contact, Notes } from 'countersign/store';
import type { Person } from '../identity/person.ts';
import type { Freeze, MadeFreeze } from '../schemas/freeze.ts';
import type { ApiRequest } from '../schemas/request.ts';

/** What the server does for a channel. Requests and decisions take the same path as those of the API, with the same checks. */
export type ChannelHost = {
  /** The address of the server, without a slash at its end. */
  readonly publicUrl: string;
  /** The person by this id, with the roles that the directory knows; undefined if the directory does not know them. */
  personOf(id: string): Promise<Person | undefined>;
  /** The request as this person sees it; undefined if it does not exist for them. */
  request(requestId: string, person: Person): Promise<ApiRequest | undefined>;
  /** Records the decision, with the name of the channel. Throws what `ai.runs.decide` throws. */
  decide(
    requestId: string,
    person: Person,
    decided: { readonly decision: DecisionInput; readonly digest: string; readonly note?: string },
  ): Promise<DecideResult>;
  /** Stops calls from starting, and votes to lift that. Throws if the person may not. */
  freeze(person: Person, freeze: { readonly tools?: string[]; readonly reason: string }): Promise<MadeFreeze>;
  lift(person: Person, freezeId: string): Promise<Freeze>;
  log(level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>): void;
};

/** A person who asked for a link to sign in. */
export type SignInMail = { readonly person: string; readonly contact: Contact; readonly link: string };

/** A channel of a server. */
export interface ServerChannel extends Channel {
  /** Gets the notes of the store before anything is delivered, for a channel that keeps records. */
  connect?(notes: Notes): void;
  /** Answers a request to `/channels/NAME/…`. It must check by itself who sent it. */
  receive?(request: Request, host: ChannelHost): Promise<Response>;
  /** Sends a person the link that signs them in, which they asked for. */
  signIn?(mail: SignInMail, delivering: { readonly signal: AbortSignal }): Promise<void>;
  /** Sends a sample to one address, for `countersign channels test`. Resolves with a sentence that says what was sent where. */
  sample?(to: string): Promise<string>;
}
