// The options of decision links.

/** Options of decision links. */
export type LinkOptions = {
  /** How long a link works; seven days by default. It never outlives its request. */
  readonly lifetimeMs?: number;
  /** The person must also be signed in, as the person to whom the link was sent. Without it, the link is the proof. */
  readonly requireSignIn?: boolean;
};
